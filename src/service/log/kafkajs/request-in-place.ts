import { createRequire } from 'node:module';

/**
 * Bytes kept free before a body: length, key, version, correlation id and client id of a request.
 * A client id that is longer is written by kafkajs.
 */
export const headroom = 256;

/** Part of kafkajs's encoder, to write a request around its body. */
export interface Encoded {
  readonly buf: Buffer;
  readonly buffer: Buffer;
  size(): number;
}

interface Encoder extends Encoded {
  writeEncoder(value: Encoded): Encoded;
}

/** The end of a buffer, with room before it. What stands before a body is written there. */
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
const patched = Symbol.for('tidemark.kafkajs-request-in-place');

/**
 * Has kafkajs 2.2.4 write a request's head before a body that has room for it (`InPlace`). By
 * itself it copies each body twice, into buffers that it fills with zeros first: a twentieth of the
 * service's time at full load. Other bodies are copied as before. Safe to call again.
 */
export function requestInPlace(): void {
  const { prototype } = load('kafkajs/src/protocol/encoder') as { prototype: Encoder & { [patched]?: true } };
  if (prototype[patched]) return;
  const original = prototype.writeEncoder;
  if (typeof original !== 'function')
    throw new Error('kafkajs: its encoder has changed; see src/service/log/kafkajs/request-in-place.ts');
  prototype.writeEncoder = function (this: Encoder, value) {
    return (value instanceof InPlace ? value.behind(this.buffer) : undefined) ?? original.call(this, value);
  };
  prototype[patched] = true;
}
