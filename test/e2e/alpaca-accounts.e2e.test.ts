import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { keysOf } from '../../src/sandbox/alpaca/api-keys.ts';
import { alpacaClient, linkPair } from '../support/platform/alpaca.ts';
import { ask, control } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';
import { World } from '../support/runs/service-under-test.ts';
import { readAll } from '../support/servers/kafka-fixture.ts';

const quick = { market: { openOrders: 20, knownOrders: 40 }, alpaca: { requestsPerMinute: 100_000 } };
const [one, two, live] = ['SIM-1001', 'SIM-1002', 'SIM-1003'] as const;
const first = 'alpaca_paper:SIM-1001';

/** A service without a key pair in its settings, at two venues: one paper, one live. */
async function linkedWorld() {
  const paper = await alpacaClient(quick);
  const real = await alpacaClient(quick);
  const env = {
    VENUES: 'alpaca',
    ALPACA_URL: paper.at.url,
    ALPACA_OTHER_URL: real.at.url,
    TIDEMARK_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    TIDEMARK_COMMANDS: 'on',
  };
  const world = await World.create({ platform: env });
  const settings = { ...env, DATABASE_URL: world.databaseUrl };
  const link = (id: string, keyNumber = 1, ...flags: string[]) =>
    linkPair(settings, keysOf({ id, keyNumber }), ...flags);
  return { paper, world, settings, link };
}

/** Each account with the login that follows it, over all processes. */
async function followed(services: readonly Awaited<ReturnType<World['serve']>>[]) {
  const all = await Promise.all(services.map((service) => service.status()));
  return all
    .flatMap(({ accounts }) => accounts)
    .map(({ stream, account, credential, state }) => `${stream} ${account} by ${credential}: ${state}`)
    .toSorted();
}

const stored = async (world: World) =>
  (
    await world.query<{ stream: string; account: string; orders: number }>(
      `select stream, state ->> 'accountId' as account, count(*)::int as orders from current_orders group by 1, 2 order by 1, 2`,
    )
  ).map(({ stream, account }) => `${stream} ${account}`);

it('two processes follow paper and live accounts by linked keys, each by its own, through a rotation and a removal', async () => {
  const { paper, world, settings, link } = await linkedWorld();
  const service = await world.serve();
  const services = [service, await world.serve()];
  const rows = (...wanted: string[]) =>
    eventually(async () => expect(await followed(services)).toEqual(wanted), { deadlineMs: 120_000 });
  await service.adminAddress();
  expect(await link(one)).toMatchObject({ code: 0, out: `Linked ${first}.\n` });
  expect(await link(two)).toMatchObject({ code: 0 });
  expect(await link(live, 1, '--environment', 'live')).toMatchObject({ code: 0, out: 'Linked alpaca:SIM-1003.\n' });
  const rest = ['alpaca_paper SIM-1002 by alpaca_paper:SIM-1002: live'];
  const ofLive = 'alpaca SIM-1003 by alpaca:SIM-1003: live';
  const ofFirst = `alpaca_paper SIM-1001 by ${first}`;
  await rows(ofLive, `${ofFirst}: live`, ...rest);
  await eventually(async () =>
    expect(await stored(world)).toEqual(['alpaca SIM-1003', 'alpaca_paper SIM-1001', 'alpaca_paper SIM-1002']),
  );

  const url = await service.restAddress();
  await eventually(async () => {
    const listed = (await ask(`${url}/v1/accounts`)).json.items;
    expect(listed.map(({ accountId }: { accountId: string }) => accountId).toSorted()).toEqual([one, two, live]);
    // Each process finds the linked keys by itself.
    expect((await ask(`${url}/v1/me`)).json.streams).toEqual(['alpaca_paper', 'alpaca']);
    const records = await readAll(world.brokers, world.topics.updates);
    const accounts = records.flatMap(({ value }) => (value === undefined ? [] : [JSON.parse(value).order.accountId]));
    expect([...new Set(accounts)].toSorted()).toEqual([one, two, live]);
  });
  const place = async (account: string, price: string) => {
    const io = cliIo({ TIDEMARK_URL: url });
    const terms = ['--symbol', 'AAPL', '--side', 'buy', '--type', 'limit', '--qty', '10', '--price', price];
    const to = ['--account', account, '--stream', 'alpaca_paper', '--wait', '20', '--json'];
    await runProgram(io, ['place', ...terms, ...to]);
    return { code: io.code(), said: io.err(), ...JSON.parse(io.out() || '{}') };
  };
  /** A key pair sees the orders of its account alone. */
  const seenBy = async (account: string, orderId: string) => {
    const { keyId, secretKey } = keysOf({ id: account });
    const headers = { 'APCA-API-KEY-ID': keyId, 'APCA-API-SECRET-KEY': secretKey };
    return (await fetch(`${paper.at.url}/v2/orders/${orderId}`, { headers })).status;
  };
  for (const account of [one, two]) {
    const placed = await place(account, '187.10');
    expect(placed).toMatchObject({ code: 0, result: 'applied' });
    expect([await seenBy(one, placed.orderId), await seenBy(two, placed.orderId)]).toEqual(
      account === one ? [200, 404] : [404, 200],
    );
  }

  // Alpaca ends the pair, and a person links the new one.
  await control(paper.at, `/accounts/${one}`, { keyNumber: 2 });
  await eventually(
    async () => {
      const all = await Promise.all(services.map((each) => each.status()));
      expect(all.flatMap(({ credentials }) => credentials)).toContainEqual(
        expect.objectContaining({ credential: first, state: 'login_required', lastError: expect.any(String) }),
      );
    },
    { deadlineMs: 120_000 },
  );
  expect(await link(one)).toMatchObject({ code: 77, err: expect.stringContaining('Alpaca refuses the key pair') });
  expect(await link(one, 2)).toMatchObject({ code: 0 });
  await rows(ofLive, `${ofFirst}: live`, ...rest);
  expect(await place(one, '187.20')).toMatchObject({ code: 0, result: 'applied' });

  const io = cliIo(settings);
  await runProgram(io, ['link', '--remove', first]);
  expect(io.code()).toBe(0);
  await rows(ofLive, ...rest);
  await eventually(async () => {
    expect(await place(one, '187.30')).toMatchObject({ code: 1, said: expect.stringContaining('ACCOUNT_NOT_FOUND') });
  });
  for (const each of services) {
    expect(each.process.tail()).not.toContain('sandbox-secret');
    expect(await each.stop()).toBe(0);
  }
}, 300_000);
