import { createRequire } from 'node:module';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  leanProduce,
  type ProduceArguments,
  type ProduceProtocol,
  RequestMemory,
} from '../../../src/service/log/kafkajs/lean-produce.ts';

const load = createRequire(import.meta.url);
type MakeRequest = (args: ProduceArguments) => { encode(): Promise<{ buffer: Buffer }> };
const makeTheirs = load('kafkajs/src/protocol/requests/produce/v3/request') as MakeRequest;
const theirs = (args: ProduceArguments) => makeTheirs(args).encode();
const produce = load('kafkajs/src/protocol/requests/produce') as ProduceProtocol;
leanProduce();
leanProduce();
const ours = (args: ProduceArguments, version = 7) => produce.protocol({ version })(args).request.encode();

const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.string({ unit: 'binary', maxLength: 40 }));
// Varints change their length at 64, 8,192 and 1,048,576 bytes.
const size = fc.oneof(fc.integer({ min: 60, max: 70 }), fc.integer({ min: 8180, max: 8200 }), fc.constant(1_048_580));
const value = fc.oneof(
  { weight: 20, arbitrary: text },
  { weight: 1, arbitrary: size.map((length) => 'x'.repeat(length)) },
);
const headers = fc.oneof(
  { weight: 1, arbitrary: fc.dictionary(text, text, { maxKeys: 3 }) },
  { weight: 9, arbitrary: fc.constant(undefined) },
);
const topicData = (timestamp: string) =>
  fc.array(
    fc.record({
      topic: fc.string({ minLength: 1, maxLength: 60 }),
      partitions: fc.array(
        fc.record({
          partition: fc.integer({ min: 0, max: 5000 }).map(String),
          firstSequence: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
          messages: fc.array(
            fc.record(
              { key: text, value, timestamp: fc.constant(timestamp), headers },
              { requiredKeys: ['key', 'value', 'timestamp'] },
            ),
            { minLength: 1, maxLength: 150 },
          ),
        }),
        { minLength: 1, maxLength: 4 },
      ),
    }),
    { minLength: 1, maxLength: 3 },
  );
const args = fc.integer({ min: 1, max: 4_000_000_000_000 }).chain((timestamp) =>
  fc.record(
    {
      acks: fc.constantFrom(-1, 1),
      timeout: fc.integer({ min: 0, max: 60_000 }),
      transactionalId: fc.constantFrom('tidemark-0', 'ä'),
      producerId: fc.constantFrom<unknown>(-1, '4711', '9007199254740993', 12),
      producerEpoch: fc.integer({ min: -1, max: 32_767 }),
      topicData: topicData(String(timestamp)),
    },
    { requiredKeys: ['acks', 'timeout', 'topicData'] },
  ),
);

test('the bytes of a produce request are those that kafkajs itself would write', async () => {
  await fc.assert(
    fc.asyncProperty(args, async (drawn) => {
      expect((await ours(drawn)).buffer.equals((await theirs(drawn)).buffer)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

type Request = Parameters<typeof ours>[0];
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
    fc.asyncProperty(args, clients, ids, async (drawn: Request, clientId, correlationId) => {
      const body = (await theirs(drawn)).buffer;
      const { request } = produce.protocol({ version: 7 })(drawn);
      const sent = await createRequest({ correlationId, clientId, request });
      expect(sent.buffer.equals(requestOf(correlationId, clientId, body))).toBe(true);
    }),
    { numRuns: 100 },
  );
});

const message = { key: 'k', value: 'v', timestamp: '1795250000000' };
const withMessages = (
  messages: ProduceArguments['topicData'][number]['partitions'][number]['messages'],
): ProduceArguments => ({
  acks: -1,
  timeout: 4500,
  topicData: [{ topic: 't', partitions: [{ partition: '0', firstSequence: 0, messages }] }],
});

test.for([
  ['two timestamps', withMessages([message, { ...message, timestamp: '1795250000001' }])],
  ['a header in bytes', withMessages([{ ...message, headers: { trace: Buffer.from('abc') } }])],
  ['a header twice', withMessages([{ ...message, headers: { trace: ['abc', 'def'] } }])],
  ['a value in bytes', withMessages([{ ...message, value: Buffer.from('v') }])],
  ['no value', withMessages([{ ...message, value: null }])],
  ['no key', withMessages([{ ...message, key: null }])],
] as const)('what our publishers never send is left to kafkajs: %s', async ([, odd]) => {
  expect((await ours(odd)).buffer.equals((await theirs(odd)).buffer)).toBe(true);
});

test('older versions of the request are left to kafkajs: their records have another shape', async () => {
  const { request, response } = produce.protocol({ version: 2 })(withMessages([message]));
  const encoded = await request.encode();
  expect(encoded.buffer.equals((await theirs(withMessages([message]))).buffer)).toBe(false);
  expect(response).toHaveProperty('decode');
});

test('the memory of an answered request is that of the next, and of one without an answer it never is', async () => {
  const answer = Buffer.alloc(16);
  const many = withMessages(Array.from({ length: 300 }, () => ({ ...message, value: 'x'.repeat(1_000) })));
  const send = async (answered: boolean) => {
    const { request, response } = produce.protocol({ version: 7 })(many);
    const { buffer } = await request.encode();
    const expected = (await theirs(many)).buffer;
    expect(buffer.equals(expected)).toBe(true);
    // An answer that cannot be read is one all the same.
    if (answered) await response.decode(answer).catch(() => undefined);
    return buffer.buffer;
  };
  const first = await send(true);
  const second = await send(false);
  expect(second).toBe(first);
  const third = await send(true);
  expect(third).not.toBe(first);
  expect(await send(true)).toBe(third);
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
