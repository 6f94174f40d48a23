// What a user saw: Another process sent thirty places in the five seconds after a halt was answered with 200.

import { expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { platformSettings, type SandboxDescription } from '../../src/sandbox/describe-sandbox.ts';
import { TakenAccounts } from '../support/orders/taken-accounts.ts';
import { controlLines, runningSandbox } from '../support/platform/sandbox.ts';
import { call, callAt } from '../support/rest/rest-call.ts';
import { eventually } from '../support/runs/poll.ts';
import { type RunningService, World } from '../support/runs/service-under-test.ts';
import { proxyTo, through } from '../support/servers/network.ts';

const order = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };
const askEveryMs = 40;
/**
 * As an installation has them: the lease of a process that
 * can't renew it outlives the answer to a halt.
 */
const longLeases = { TIDEMARK_LEASE_RENEW_MS: '2000', TIDEMARK_LEASE_MARGIN_MS: '3000', TIDEMARK_LEASE_TTL_MS: '6000' };
const withoutBrakes = {
  ...{ TIDEMARK_COMMAND_RATE: '10000', TIDEMARK_COMMAND_BURST: '100000', TIDEMARK_BREAKER_COMMANDS: '1000000' },
  ...{ TIDEMARK_HALT_UNRESOLVED_ACCOUNT: '100000', TIDEMARK_HALT_UNRESOLVED_SERVICE: '100000' },
};

/** Places through the process for its own accounts, again and again, whatever the answers say. */
function placing(service: RunningService, accounts: readonly string[]) {
  let over = false;
  const asked: Promise<unknown>[] = [];
  const run = (async () => {
    const address = await service.restAddress();
    for (let n = 0; !over; n += 1) {
      const body = { ...order, accountId: accounts[n % accounts.length] };
      asked.push(callAt(address, 'POST', '/v1/orders', { body }).catch(() => undefined));
      await systemClock.sleep(askEveryMs);
    }
  })();
  return async () => {
    over = true;
    await run;
    await Promise.all(asked);
  };
}

/** The instants at which places of these accounts reached the platform. */
async function placesOf(description: SandboxDescription, accounts: readonly string[]): Promise<number[]> {
  const requests = await controlLines(description, '/ledger?kind=request');
  return requests
    .filter(({ method, url }) => method === 'POST' && url === '/v1/orders')
    .filter(({ body }) => accounts.includes(JSON.parse(body).accountId))
    .map(({ at }) => Date.parse(at));
}

/**
 * One process answered a halt with 200, and another, whose connections to the database had died
 * half open, sent thirty places more, the last of them five seconds later.
 */
it.each([
  ['answers of the database are lost', 'toClient', longLeases],
  ['neither questions nor answers arrive', undefined, longLeases],
  ['nothing arrives, and its lease ends before the answer', undefined, {}],
] as const)('no place follows an answered halt where, at another process, %s', async (_name, direction, leases) => {
  const { description } = await runningSandbox({ accounts: 12 });
  const env = { TIDEMARK_COMMANDS: 'on', ...withoutBrakes, ...leases };
  const world = await World.create({ platform: platformSettings(description), env });
  const database = await proxyTo(world.databaseUrl);
  const a = await world.serve();
  const b = await world.serve({ DATABASE_URL: through(database, world.databaseUrl) });
  const ids = description.users
    .filter(({ username }) => username !== 'carol')
    .flatMap((user) => user.accounts.map(({ id }) => id));
  const taken = new TakenAccounts(world.databaseUrl, ids);
  const accounts = await eventually(
    async () => {
      const both = await taken.read([a, b]);
      expect(both.get(a)?.accounts.length).toBeGreaterThan(0);
      expect(both.get(b)?.accounts.length).toBeGreaterThan(1);
      return both.get(b)?.accounts ?? [];
    },
    { deadlineMs: 90_000, everyMs: 200 },
  );
  const end = placing(b, accounts);
  const flowed = await eventually(
    async () => {
      const instants = await placesOf(description, accounts);
      expect(instants.length).toBeGreaterThan(10);
      return instants.length;
    },
    { deadlineMs: 90_000, everyMs: 200 },
  );

  database.behave({ kind: 'swallow' }, direction);
  const halted = await call(a, 'POST', '/v1/halt', { body: { reason: 'kill switch' } });
  const answeredMs = systemClock.nowMs();
  expect(halted.status, JSON.stringify(halted.body)).toBe(200);

  // Longer than a write that was marked before could take, and than
  // the lease: then the network is there again.
  await systemClock.sleep(7_000);
  database.behave({ kind: 'pass' });
  await systemClock.sleep(3_000);
  await end();
  const instants = await placesOf(description, accounts);
  expect(instants.length).toBeGreaterThanOrEqual(flowed);
  // A write that was marked before the halt leaves within one second of its mark or never, and the
  // answer waits that second.
  expect(instants.filter((at) => at > answeredMs).map((at) => at - answeredMs)).toEqual([]);
  const marked = await world.query(
    `select 1 from attempts a join commands c using (command_id) join halts h on h.cleared_at is null
     where c.kind <> 'cancel' and a.sending_at > h.since + interval '1 second'`,
  );
  expect(marked, 'the journal marks nothing behind it').toEqual([]);
});
