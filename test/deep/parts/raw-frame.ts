/**
 * One frame of a WebSocket server, byte by byte (RFC 6455, 5.2), for what no library would send.
 * `opcode` 0 continuation, 1 text, 2 binary, 9 ping.
 */
export function rawFrame(
  opcode: number,
  payload: Buffer,
  flags: { final?: boolean; compressed?: boolean } = {},
): Buffer {
  const first = (flags.final === false ? 0 : 0x80) | (flags.compressed === true ? 0x40 : 0) | opcode;
  const { length } = payload;
  if (length < 126) return Buffer.concat([Buffer.from([first, length]), payload]);
  const head = Buffer.alloc(length < 65_536 ? 4 : 10);
  head[0] = first;
  head[1] = length < 65_536 ? 126 : 127;
  if (length < 65_536) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}
