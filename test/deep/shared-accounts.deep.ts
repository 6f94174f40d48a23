import { expect, it } from 'vitest';
import { visibleAccounts } from '../../src/demo/proof/prove-run.ts';
import { shardOf } from '../../src/domain/partition.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { EventReader } from '../support/rest/event-reader.ts';
import { call } from '../support/rest/rest-call.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { longLeases, serveTogether } from './parts/serve-together.ts';

const terms = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };
const word = { reason: 'drill' };

/** An account of each lane's shards. */
async function accountOfEach(world: World, accounts: readonly string[]): Promise<[string, string]> {
  const rows = await world.query<{ lane: number }>('select lane from shards order by shard');
  const [zero, one] = [0, 1].map((lane) => accounts.find((id) => rows[shardOf(id, rows.length)]?.lane === lane));
  if (zero === undefined || one === undefined) throw new Error('both lanes have accounts');
  return [zero, one];
}

function place(service: RunningService, accountId: string, forwarded = false) {
  return call(service, 'POST', '/v1/orders', { body: { accountId, ...terms }, wait: 20, forwarded });
}

// docs/operating.md, "The fleet".
it('two processes share all accounts: they lose nothing, show all of it to a reader of either, take commands for each other, and halt together', async () => {
  const { description } = await runningSandbox({ accounts: 8, market: { rate: 200 } });
  const world = await World.create({
    platform: platformSettings(description),
    env: { ...longLeases, TIDEMARK_COMMANDS: 'on' },
  });
  const [zero, one] = await serveTogether(world, [{}, {}]);
  if (zero === undefined || one === undefined) throw new Error('two were started');
  const reader = await EventReader.open(`${await zero.restAddress()}/v1/stream?after=0`);
  const accounts = [...(await visibleAccounts(fetch, description))];
  const [ofZero, ofOne] = await accountOfEach(world, accounts);

  const instanceOf = async (service: RunningService): Promise<string> => (await service.status()).lane.instance;
  for (const [service, accountId, holder] of [
    [zero, ofZero, zero],
    [one, ofOne, one],
    [zero, ofOne, one],
    [one, ofZero, zero],
  ] as const) {
    const placed = await place(service, accountId);
    expect(placed).toMatchObject({ status: 200, body: { result: 'applied' } });
    expect(placed.headers.get('tidemark-instance')).toBe(await instanceOf(holder));
    const { commandId } = placed.body;
    for (const each of [zero, one])
      expect((await call(each, 'GET', `/v1/commands/${commandId}`)).body).toMatchObject({
        commandId,
        result: 'applied',
      });
  }
  for (const service of [zero, one])
    for (const accountId of accounts)
      expect(await place(service, accountId)).toMatchObject({ status: 200, body: { result: 'applied' } });
  const swept = await call(one, 'POST', '/v1/cancel-all', { body: word });
  expect(swept).toMatchObject({ status: 200, body: { declined: [] } });
  expect(new Set(swept.body.orders.map(({ accountId }: { accountId: string }) => accountId))).toEqual(
    new Set(accounts),
  );
  expect(swept.body).not.toHaveProperty('unanswered');
  // One that was forwarded already goes no further.
  expect(await place(zero, ofOne, true)).toMatchObject({ status: 503, body: { code: 'NOT_LEADER', retryable: true } });
  for (const service of [zero, one])
    expect(await place(service, 'SIM-9999')).toMatchObject({ status: 404, body: { code: 'ACCOUNT_NOT_FOUND' } });
  expect(await call(zero, 'POST', '/v1/halt', { body: word })).toMatchObject({ status: 200 });
  await eventually(
    async () => {
      for (const accountId of accounts) expect((await place(one, accountId)).body.code).toBe('PLACING_HALTED');
    },
    { everyMs: 250 },
  );
  expect((await call(one, 'POST', '/v1/resume', { body: word })).body).toMatchObject({ halts: [] });
  await eventually(async () => expect((await place(zero, ofZero)).status).toBe(200), { everyMs: 250 });

  await reader.take(500);
  await control(description, '/rate', { rate: 0 });
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  const rows = await world.query<{ seq: string; lane: number }>(
    "select seq, lane from order_updates where stream <> 'watermarks' order by seq",
  );
  expect(new Set(rows.map(({ lane }) => lane))).toEqual(new Set([0, 1]));
  await reader.take(rows.length);
  expect(reader.events.map(({ event, id }) => `${event} ${id}`)).toEqual(rows.map(({ seq }) => `update ${seq}`));
  reader.close();
  const other = await EventReader.open(`${await one.restAddress()}/v1/stream?after=0`);
  await other.take(rows.length);
  expect(other.events.map(({ id }) => id)).toEqual(rows.map(({ seq }) => seq));
  other.close();
  const doctor = await world.run(['doctor']);
  await doctor.exited;
  expect(doctor.lines.filter((line) => /^\S+ +(schema|lane)/.test(line))).toEqual([
    expect.stringContaining('migrated to this build'),
  ]);
  expect(await Promise.all([zero.stop(), one.stop()])).toEqual([0, 0]);
}, 300_000);
