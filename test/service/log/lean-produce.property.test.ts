import { createRequire } from 'node:module';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Part, produceTo, RequestMemory, requestInPlace } from '../../../src/service/log/kafkajs/lean-produce.ts';
import { notIdempotent } from '../../../src/service/log/kafkajs/send-records.ts';
import { answerOf, scriptedBroker } from './scripted-broker.ts';

const load = createRequire(import.meta.url);
type Head = Parameters<typeof produceTo>[2];
type MakeRequest = (args: object) => { encode(): Promise<{ buffer: Buffer }> };
const makeTheirs = load('kafkajs/src/protocol/requests/produce/v3/request') as MakeRequest;

interface Drawn {
  readonly head: Head;
  readonly parts: readonly Part[];
}

/** As kafkajs's own encoder writes it. */
async function theirs({ head, parts }: Drawn): Promise<Buffer> {
  const { transactionalId, producerId, producerEpoch, timeoutMs, timestampMs } = head;
  const topicData = Array.from(
    Map.groupBy(parts, ({ topic }) => topic),
    ([topic, partitions]) => ({
      topic,
      partitions: partitions.map(({ partition, firstSequence, records }) => ({
        partition,
        firstSequence,
        messages: records.map(({ key, payload: value, traceparent }) => ({
          ...{ key, value, timestamp: String(timestampMs) },
          ...(traceparent !== undefined && { headers: { traceparent } }),
        })),
      })),
    }),
  );
  const ids = { transactionalId, producerId: String(producerId), producerEpoch };
  return (await makeTheirs({ acks: -1, timeout: timeoutMs, ...ids, topicData }).encode()).buffer;
}

/** The request that was given to the connection, and what the connection does with it. */
async function sent({ head, parts }: Drawn, answer: Buffer | undefined = undefined) {
  const broker = scriptedBroker(answer);
  await produceTo(broker, parts, head).catch(() => undefined);
  const [request] = broker.sent;
  if (request === undefined) throw new Error('nothing was sent');
  return request;
}

requestInPlace();
requestInPlace();

const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.string({ unit: 'binary', maxLength: 40 }));
// Varints change their length at 64, 8,192 and 1,048,576 bytes.
const size = fc.oneof(fc.integer({ min: 60, max: 70 }), fc.integer({ min: 8180, max: 8200 }), fc.constant(1_048_580));
const value = fc.oneof(
  { weight: 20, arbitrary: text },
  { weight: 1, arbitrary: size.map((length) => 'x'.repeat(length)) },
);
const traceparent = fc.oneof({ weight: 1, arbitrary: text }, { weight: 9, arbitrary: fc.constant(undefined) });
const part = fc.record({
  topic: fc.string({ minLength: 1, maxLength: 60 }),
  partition: fc.integer({ min: 0, max: 5000 }),
  leader: fc.constant(1),
  firstSequence: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  records: fc.array(fc.record({ key: text, payload: value, traceparent }), { minLength: 1, maxLength: 150 }),
  acknowledged: fc.constant(false),
}) as fc.Arbitrary<Part>;
const drawing: fc.Arbitrary<Drawn> = fc.record({
  head: fc.record({
    transactionalId: fc.constantFrom(null, 'tidemark-0', 'ä'),
    timeoutMs: fc.integer({ min: 0, max: 60_000 }),
    timestampMs: fc.bigInt({ min: 1n, max: 4_000_000_000_000n }),
    producerId: fc.constantFrom(-1n, 4711n, 9007199254740993n),
    producerEpoch: fc.integer({ min: -1, max: 32_767 }),
  }),
  parts: fc.array(part, { minLength: 1, maxLength: 8 }),
});

test('the bytes of a produce request are those that kafkajs itself would write', async () => {
  await fc.assert(
    fc.asyncProperty(drawing, async (drawn) => {
      const { buffer } = await (await sent(drawn)).encode();
      expect(buffer.equals(await theirs(drawn))).toBe(true);
    }),
    { numRuns: 200 },
  );
});

const createRequest = load('kafkajs/src/protocol/request') as (of: {
  readonly correlationId: number;
  readonly clientId: string;
  readonly request: object;
}) => Promise<{ readonly buffer: Buffer }>;

/** By the protocol guide: length, key, version, correlation id, client id, body. */
function requestOf(correlationId: number, clientId: string, body: Buffer): Buffer {
  const id = Buffer.from(clientId);
  const head = Buffer.alloc(10);
  head.writeInt16BE(0, 0);
  head.writeInt16BE(7, 2);
  head.writeInt32BE(correlationId, 4);
  head.writeInt16BE(id.length, 8);
  const whole = Buffer.concat([head, id, body]);
  const length = Buffer.alloc(4);
  length.writeInt32BE(whole.length);
  return Buffer.concat([length, whole]);
}

test('a whole request has its head before the same bytes, also where its client has a name too long to fit', async () => {
  const clients = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.constant('c'.repeat(300)));
  const ids = fc.integer({ min: 0, max: 2 ** 31 - 1 });
  await fc.assert(
    fc.asyncProperty(drawing, clients, ids, async (drawn, clientId, correlationId) => {
      const whole = await createRequest({ correlationId, clientId, request: await sent(drawn) });
      expect(whole.buffer.equals(requestOf(correlationId, clientId, await theirs(drawn)))).toBe(true);
    }),
    { numRuns: 100 },
  );
});

test('the memory of an answered request is that of the next, and of one without an answer it never is', async () => {
  const records = Array.from({ length: 300 }, () => ({ key: 'k', payload: 'x'.repeat(1_000) }));
  const drawn = {
    head: { ...notIdempotent, timeoutMs: 4500, timestampMs: 1n },
    parts: [{ topic: 't', partition: 0, leader: 1, firstSequence: 0, records, acknowledged: false }],
  };
  const expected = await theirs(drawn);
  /** The memory of its request. */
  const send = async (answer: Buffer | undefined) => {
    let used: ArrayBufferLike | undefined;
    const broker = scriptedBroker(answer);
    const noting: typeof broker.connectionPool.send = async (protocol) => {
      const { encode } = protocol.request;
      const request = {
        ...protocol.request,
        encode: async () => {
          const encoded = await encode();
          used = encoded.buffer.buffer;
          expect(encoded.buffer.equals(expected)).toBe(true);
          return encoded;
        },
      };
      return broker.connectionPool.send({ ...protocol, request });
    };
    await produceTo({ ...broker, connectionPool: { send: noting } }, drawn.parts, drawn.head).catch(() => undefined);
    return used;
  };
  const answered = answerOf([{ topic: 't', partition: 0 }]);
  const first = await send(answered);
  const second = await send(undefined);
  expect(second).toBe(first);
  // An answer that cannot be read is one all the same.
  const third = await send(Buffer.alloc(1));
  expect(third).not.toBe(first);
  expect(await send(answered)).toBe(third);
});

test('memory that is kept is bounded, in pieces and in bytes', () => {
  const memory = new RequestMemory();
  const sizes = [70_000, 200_000, 400_000, 900_000, 1_000_000, 3_000_000];
  const given = sizes.map((bytes) => memory.take(bytes));
  for (const [i, buffer] of given.entries()) expect(buffer.length).toBeGreaterThanOrEqual(sizes[i] as number);
  for (const buffer of given) memory.give(buffer);
  // Of the five that are not too large, the smallest went.
  const again = [1, 1, 1, 1].map((bytes) => memory.take(bytes));
  for (const [i, buffer] of again.entries()) expect(buffer).toBe(given[i + 1]);
  expect(given).not.toContain(memory.take(1));
});
