/** Frames never exceed 64 KiB (invariants, "Limits"), so a header of four bytes holds every event: 126 and two bytes of length. */
const headerBytes = 4;
const longestText = 65_535;
const chunkBytes = 128 * 1024;
const textFrame = 0x81;

/**
 * Gathers text frames (RFC 6455, unmasked, final), so that a slice of the market costs one write of a socket instead of two for each event:
 * 1 µs an event of 900 bytes, 5 µs by `WebSocket.send`.
 *
 * Invariant: bytes that were handed over are never written again; a chunk is used up from front to back, then replaced.
 */
export class FrameBuffer {
  private chunk: Buffer = Buffer.alloc(0);
  private from = 0;
  private to = 0;
  private readonly write: (bytes: Buffer) => void;

  constructor(write: (bytes: Buffer) => void) {
    this.write = write;
  }

  /** Adds one text frame. The text has 126 to 65,535 bytes of UTF-8, which every event has. */
  add(text: string): void {
    // Three bytes for each UTF-16 unit is the most that UTF-8 needs; the exact count is only taken where that does not fit.
    if (this.to + headerBytes + text.length * 3 > this.chunk.length) this.makeRoom(headerBytes + Buffer.byteLength(text));
    const length = this.chunk.write(text, this.to + headerBytes, 'utf8');
    this.chunk[this.to] = textFrame;
    this.chunk[this.to + 1] = 126;
    this.chunk.writeUInt16BE(length, this.to + 2);
    this.to += headerBytes + length;
  }

  /** Hands over what has gathered since the last time. */
  flush(): void {
    if (this.to === this.from) return;
    const bytes = this.chunk.subarray(this.from, this.to);
    this.from = this.to;
    this.write(bytes);
  }

  private makeRoom(frameBytes: number): void {
    if (frameBytes > headerBytes + longestText) throw new RangeError(`an event of ${frameBytes} bytes does not fit a frame`);
    if (this.to + frameBytes <= this.chunk.length) return;
    this.flush();
    this.chunk = Buffer.allocUnsafeSlow(chunkBytes);
    this.from = 0;
    this.to = 0;
  }
}

/** Any frame, for faults: `opcode` 1 text, 2 binary, 0 continuation, 9 ping. */
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
