import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, startRest } from '../../support/rest/rest-rig.ts';
import { sampledMs } from '../../support/rest/status-parts.ts';

let rig: Awaited<ReturnType<typeof startRest>>;

beforeAll(async () => {
  rig = await startRest();
});
afterAll(() => rig.server.drain(new AbortController().signal));

it('the history begins after the time that the caller names', async () => {
  const times = async (query: string) => {
    const { body } = await ask(`${rig.address}/v1/history${query}`);
    return (body['samples'] as { at: string }[]).map(({ at }) => Date.parse(at) - sampledMs);
  };
  expect(await times('')).toEqual([10_000, 20_000]);
  expect(await times(`?since=${new Date(sampledMs + 10_000).toISOString()}`)).toEqual([20_000]);
});

it('the history is not asked for by something that is no time', async () => {
  for (const since of ['', 'yesterday', '1795000000000', '2026-02-30T00:00:00Z'])
    expect((await ask(`${rig.address}/v1/history?since=${since}`)).status).toBe(400);
});

it('the consumer groups are 503, without a word about the brokers, while Kafka does not answer', async () => {
  rig.service.consumersAnswer = { kind: 'unavailable' };
  const { status, headers, body } = await ask(`${rig.address}/v1/consumers`);
  expect([status, body['code'], body['retryable'], headers.get('retry-after')]).toEqual([
    503,
    'KAFKA_UNAVAILABLE',
    true,
    '5',
  ]);
});
