import { createRequire } from 'node:module';
import { patchOnce } from './patch-once.ts';

/**
 * Bytes kept free before a body, for a request's length, key, version, correlation id and client
 * id. With a longer client id, kafkajs copies the body.
 */
export const headroom = 256;

/** A body, as kafkajs's encoder takes it. */
export interface Encoded {
  readonly buf: Buffer;
  readonly buffer: Buffer;
  size(): number;
}

interface Encoder extends Encoded {
  writeEncoder(value: Encoded): Encoded;
}

/** A buffer's end, with room before it for a head. */
export class InPlace implements Encoded {
  readonly buf: Buffer;
  private readonly start: number;

  constructor(buf: Buffer, start: number) {
    this.buf = buf;
    this.start = start;
  }

  get buffer(): Buffer {
    return this.buf.subarray(this.start);
  }

  size(): number {
    return this.buf.length - this.start;
  }

  /** Undefined: there is no room. */
  behind(head: Buffer): InPlace | undefined {
    const start = this.start - head.length;
    if (start < 0) return undefined;
    head.copy(this.buf, start);
    return new InPlace(this.buf, start);
  }
}

const load = createRequire(import.meta.url);

/**
 * Has kafkajs 2.2.4 write a request's head before its body in place (`InPlace`). By itself it
 * copies each body twice, into buffers filled with zeros first: 3 µs a record in a send with ten, 1
 * to 2 µs with many. Other bodies are copied as before. Safe to call again.
 */
export function requestInPlace(): void {
  const { prototype } = load('kafkajs/src/protocol/encoder') as { prototype: Encoder };
  patchOnce(prototype, 'writeEncoder', (original) => {
    return function writeEncoder(this: Encoder, value: Encoded): Encoded {
      return (value instanceof InPlace ? value.behind(this.buffer) : undefined) ?? original.call(this, value);
    };
  });
}
