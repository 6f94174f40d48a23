/** Any frame of RFC 6455, unmasked, for faults: `opcode` 1 text, 2 binary, 0 continuation, 9 ping. */
export function rawFrame(opcode: number, payload: Buffer, flags: { final?: boolean; reserved?: boolean } = {}): Buffer {
  const first = (flags.final === false ? 0 : 0x80) | (flags.reserved === true ? 0x40 : 0) | opcode;
  if (payload.length < 126) return Buffer.concat([Buffer.from([first, payload.length]), payload]);
  if (payload.length < 65_536) {
    const head = Buffer.from([first, 126, 0, 0]);
    head.writeUInt16BE(payload.length, 2);
    return Buffer.concat([head, payload]);
  }
  const head = Buffer.alloc(10);
  head[0] = first;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}
