import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { visibleAccounts } from '../../src/demo/proof/prove-run.ts';
import { shardOf } from '../../src/domain/partition.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { ask, control, runningSandbox } from '../support/platform/sandbox.ts';
import { call } from '../support/rest/rest-call.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { serveTogether, untilShardsAt } from './parts/serve-together.ts';

const terms = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };
const word = { reason: 'a new kernel' };
/** A request waits 0.6 of the lease for a takeover, 3.6 s. */
const env = {
  TIDEMARK_COMMANDS: 'on',
  TIDEMARK_LEASE_RENEW_MS: '1000',
  TIDEMARK_LEASE_MARGIN_MS: '3000',
  TIDEMARK_LEASE_TTL_MS: '6000',
};
const heldForSeconds = 1.5;
/** So many cancel-alls at least while shards move, however slow the machine. */
const fewestSweeps = 5;

/** For so long after lane 1 got the shard, its commands can't be taken over. */
async function holdTakeover(world: World, shard: number): Promise<{ readonly ended: Promise<unknown> }> {
  const ended = world.query(`do $$ begin
    perform pg_advisory_xact_lock_shared(hashtext('tidemark fence'), ${shard});
    while (select lane from shards where shard = ${shard}) is distinct from 1 loop perform pg_sleep(0.02); end loop;
    perform pg_sleep(${heldForSeconds});
  end $$`);
  const sleeping = "select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";
  await eventually(async () => expect(await world.query(sleeping)).toHaveLength(1));
  return { ended };
}

/** Its id, once it stands. Tried again under its key: its shard may be between two processes. */
async function openOrder(service: RunningService, accountId: string): Promise<string> {
  const key = randomUUID();
  const place = { body: { accountId, ...terms }, key, wait: 20 };
  return eventually(
    async () => {
      const placed = await call(service, 'POST', '/v1/orders', place);
      expect(placed).toMatchObject({ status: 200, body: { result: 'applied', orderId: expect.any(String) } });
      return placed.body.orderId;
    },
    { everyMs: 100, deadlineMs: 60_000 },
  );
}

const holderOfLane = async (world: World, lane: number): Promise<string> => {
  const [row] = await world.query<{ holder: string }>('select holder from lanes where lane = $1', [lane]);
  return row?.holder ?? '';
};

it('a place for an account whose shard was just given away waits at its new process, and a cancel-all leaves no account out', async () => {
  const { description } = await runningSandbox({ accounts: 8, market: { rate: 50 } });
  const world = await World.create({ platform: platformSettings(description), env });
  const [one, two] = await serveTogether(world, [{}, {}]);
  if (one === undefined || two === undefined) throw new Error('two were started');
  const accounts = [...(await visibleAccounts(fetch, description))];
  const lanes = await world.query<{ lane: number }>('select lane from shards order by shard');
  const shardOfAccount = (id: string) => shardOf(id, lanes.length);
  // The highest shard is given first.
  const [moving] = accounts
    .filter((id) => lanes[shardOfAccount(id)]?.lane === 0)
    .sort((a, b) => shardOfAccount(b) - shardOfAccount(a));
  if (moving === undefined) throw new Error('lane 0 has an account');
  const shard = shardOfAccount(moving);
  const [holderOfOne, holderOfTwo] = [await holderOfLane(world, 0), await holderOfLane(world, 1)];
  const move = async (action: 'drain' | 'undrain', holder: string) =>
    expect((await call(two, 'POST', `/v1/fleet/instances/${holder}/${action}`, { body: word })).status).toBe(200);

  // The shard leaves the first process, and the second has it, and can't sweep it yet.
  /** Of the process itself, as it would answer another one. */
  const stateAt = async (service: RunningService) => {
    const { body } = await call(service, 'GET', '/v1/accounts', { forwarded: true });
    return body.items.find(({ accountId }: { accountId: string }) => accountId === moving);
  };
  const { ended } = await holdTakeover(world, shard);
  await move('drain', holderOfOne);
  const swept = { yet: false };
  void ended.then(() => {
    swept.yet = true;
  });
  await eventually(
    async () => expect(await stateAt(one)).toMatchObject({ state: 'elsewhere', instance: expect.any(String) }),
    { everyMs: 20, deadlineMs: 30_000 },
  );
  expect(swept.yet, 'the place comes before the sweep').toBe(false);
  const placed = await call(one, 'POST', '/v1/orders', { body: { accountId: moving, ...terms }, wait: 20 });
  expect(swept.yet, 'it was answered behind the sweep').toBe(true);
  expect(placed).toMatchObject({ status: 200, body: { result: 'applied' } });
  await one.waitMetric('tidemark_rest_forwards_total', { result: 'answered' }, 1);
  const { attempts } = placed.body as { attempts: readonly { attemptId: string }[] };
  expect(attempts).toHaveLength(1);
  const state = (await ask(`${description.control}/state?accountId=${moving}`)).text;
  expect(state.split(`"clOrdId":"${attempts[0]?.attemptId}"`)).toHaveLength(2);

  // Every account has an open order of ours, and every cancel-all names each of them, at either
  // instance, while shards go to and fro.
  let moves = true;
  const answers: unknown[] = [];
  const sweep = async () => {
    for (let turn = 0; moves; turn += 1) {
      const open = await Promise.all(accounts.map((accountId) => openOrder(one, accountId)));
      const { status, body } = await call(turn % 2 === 0 ? one : two, 'POST', '/v1/cancel-all', { body: word });
      const named = new Set(body.orders?.map(({ orderId }: { orderId: string }) => orderId));
      const leftOut = accounts.filter((_, i) => !named.has(open[i]));
      answers.push([status, body.declined, body.unanswered, leftOut]);
    }
  };
  const sweeping = sweep();
  await untilShardsAt(world, [1]);
  await move('undrain', holderOfOne);
  const goOn = async () => {
    await move('drain', holderOfTwo);
    await untilShardsAt(world, [0]);
    await move('undrain', holderOfTwo);
    if (!moves || answers.length >= fewestSweeps) return;
    await move('drain', holderOfOne);
    await untilShardsAt(world, [1]);
    await move('undrain', holderOfOne);
    await goOn();
  };
  await Promise.race([goOn(), sweeping]).finally(() => {
    moves = false;
  });
  await sweeping;
  expect(answers.length).toBeGreaterThanOrEqual(fewestSweeps);
  expect(answers.filter((answer) => JSON.stringify(answer) !== '[200,[],null,[]]')).toEqual([]);
  await control(description, '/rate', { rate: 0 });
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  expect(await Promise.all([one.stop(), two.stop()])).toEqual([0, 0]);
}, 300_000);
