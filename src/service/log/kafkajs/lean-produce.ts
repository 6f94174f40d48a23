import { createRequire } from 'node:module';
import { PublishError } from '../publisher.ts';
import { encodeProduce, type PlainRecord, type ProduceBody } from './encode-produce.ts';
import { patchOnce } from './patch-once.ts';

/** A produce request and its answer, as kafkajs describes them to its connection. */
interface Protocol {
  readonly request: { readonly encode: () => Promise<Encoded> };
  readonly response: {
    readonly decode: (answer: Buffer) => Promise<ProduceAnswer>;
    /** Throws the first error in it. */
    readonly parse: (answer: ProduceAnswer) => Promise<unknown>;
  };
}

interface ProduceAnswer {
  readonly topics: readonly {
    readonly topicName: string;
    readonly partitions: readonly { readonly partition: number; readonly errorCode: number }[];
  }[];
}

/** The part of a connected kafkajs 2.2.4 broker that sends one request. */
export interface Broker {
  lookupRequest(apiKey: number, definition: unknown): (args: { readonly acks: number }) => Protocol;
  readonly connectionPool: { send(protocol: Protocol): Promise<unknown> };
}

/** The records of one partition in a send. */
export interface Part {
  readonly topic: string;
  readonly partition: number;
  /** The broker's id; -1: it is not known. */
  readonly leader: number;
  firstSequence: number;
  readonly records: PlainRecord[];
  /** An answer has it. An error alone does not say which partitions refused. */
  acknowledged: boolean;
}

/** From the few records of a quiet moment to the 900 kB of a full send. */
const leastBytes = 64 * 1024;
const mostBytes = 1024 * 1024;
/** Two publishers, and several brokers for each. */
const mostKept = 4;

/**
 * The memory of requests, used again once they were answered. New memory for each is given to the
 * process page by page while it is written: 1.3 µs for a record of 1.1 kB, and 0.3 with this.
 *
 * Invariant: what `take` gave belongs to one request until `give`. A request without an answer may
 * still wait in its socket, so its memory never comes back.
 */
export class RequestMemory {
  private readonly kept: Buffer[] = [];

  /** At least so many bytes, with whatever they held before. */
  take(bytes: number): Buffer {
    const fitting = this.kept.findIndex((buffer) => buffer.length >= bytes);
    if (fitting >= 0) return this.kept.splice(fitting, 1)[0] as Buffer;
    // In powers of two: the next request is seldom of the same size.
    return Buffer.allocUnsafeSlow(Math.max(leastBytes, 2 ** Math.ceil(Math.log2(bytes))));
  }

  give(buffer: Buffer): void {
    if (buffer.length > mostBytes) return;
    this.kept.push(buffer);
    // The smallest first: a small request leaves the large ones to others.
    this.kept.sort((a, b) => a.length - b.length);
    if (this.kept.length > mostKept) this.kept.shift();
  }
}

const load = createRequire(import.meta.url);
const produceKey = 0;
const produceProtocol = load('kafkajs/src/protocol/requests/produce') as object;
const memory = new RequestMemory();

/**
 * One request to one broker, over kafkajs's connection, in the version that kafkajs would use. Our
 * encoder writes it (docs/decisions/006-our-produce-encoder-under-kafkajs.md).
 *
 * kafkajs once resolved a send although its answer lacked a partition (a leader had moved, and its
 * retry skipped the rest), and the records were lost. So each part must be in the answer, with
 * error 0: else it throws kafkajs's error, or `PublishError` `missing_ack`.
 */
export async function produceTo(
  broker: Broker,
  parts: readonly Part[],
  head: Omit<ProduceBody, 'acks' | 'topics'>,
): Promise<void> {
  const acks = -1;
  const made = broker.lookupRequest(produceKey, produceProtocol)({ acks });
  let taken: Buffer | undefined;
  const encode = async () => {
    const body = { ...head, acks, topics: Map.groupBy(parts, ({ topic }) => topic) };
    const bytes = encodeProduce(body, headroom, (size) => {
      taken = memory.take(size);
      return taken;
    });
    return new InPlace(bytes, headroom);
  };
  const decode = (answer: Buffer) => {
    // The broker has read the whole request.
    if (taken !== undefined) memory.give(taken);
    taken = undefined;
    return made.response.decode(answer);
  };
  const parse = async (answer: ProduceAnswer) => {
    const taking = new Set(
      answer.topics.flatMap(({ topicName, partitions }) =>
        partitions.flatMap(({ partition, errorCode }) => (errorCode === 0 ? `${topicName} ${partition}` : [])),
      ),
    );
    for (const part of parts) part.acknowledged = taking.has(`${part.topic} ${part.partition}`);
    await made.response.parse(answer);
    const lost = parts.find(({ acknowledged }) => !acknowledged);
    if (lost !== undefined)
      throw new PublishError('missing_ack', `no acknowledgement for ${lost.topic} partition ${lost.partition}`);
  };
  await broker.connectionPool.send({ request: { ...made.request, encode }, response: { decode, parse } });
}

/**
 * Bytes kept free before a body, for a request's length, key, version, correlation id and client
 * id. With a longer client id, kafkajs copies the body.
 */
const headroom = 256;

/** A body, as kafkajs's encoder takes it. */
interface Encoded {
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
