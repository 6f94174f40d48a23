import { describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { alpacaSettings } from '../../src/sandbox/alpaca/describe-alpaca.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { alpacaClient } from '../support/platform/alpaca.ts';
import { ask, control, runningSandbox } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';
import { World } from '../support/runs/service-under-test.ts';
import { readAll } from '../support/servers/kafka-fixture.ts';

const stream = 'alpaca_paper';
const quick = { market: { openOrders: 60, knownOrders: 200 }, alpaca: { requestsPerMinute: 100_000 } };

type Client = Awaited<ReturnType<typeof alpacaClient>>;

/** All orders of the venue: id, status in our words, filled quantity. */
async function shownBy({ get }: Client): Promise<Map<string, string>> {
  const shown = new Map<string, string>();
  for (let after = '2020-01-01T00:00:00Z'; ; ) {
    const { json } = await get(`/v2/orders?status=all&direction=asc&limit=500&after=${after}`);
    const rows = json as { id: string; status: string; filled_qty: string; submitted_at: string; notional: unknown }[];
    for (const { id, status, filled_qty } of rows) shown.set(id, `${status} ${Number(filled_qty)}`);
    if (rows.length < 500) return shown;
    after = rows.at(-1)?.submitted_at ?? after;
  }
}

const stored = async (world: World) =>
  new Map(
    (
      await world.query<{ id: string; raw: string; filled: string }>(
        `select order_id as id, state ->> 'statusRaw' as raw, state ->> 'cumQty' as filled from current_orders where stream = $1`,
        [stream],
      )
    ).map(({ id, raw, filled }) => [id, `${raw} ${Number(filled)}`]),
  );

describe('a service that follows Alpaca alone', () => {
  it('agrees about every order with the venue, through lost events, cuts and a restart', async () => {
    const client = await alpacaClient(quick);
    const world = await World.create({ platform: alpacaSettings(client.at) });
    const service = await world.serve();
    await service.waitLive();
    const agree = () => eventually(async () => expect(await stored(world)).toEqual(await shownBy(client)));
    await agree();
    expect((await stored(world)).size).toBeGreaterThan(30);

    for (const fault of ['silent_loss', 'duplicate', 'reorder', 'drop', 'cut'])
      await client.fault({ on: 'event', fault, times: 20, skip: 10 });
    await control(client.at, '/burst', { count: 400 });
    await control(client.at, '/heal', {});
    await agree();

    await service.kill9();
    await control(client.at, '/burst', { count: 400 });
    const second = await world.serve();
    await second.waitLive();
    await agree();

    expect(await world.query('select reason, raw from dead_letters')).toEqual([]);
    const { accounts } = await second.status();
    expect(accounts).toMatchObject([{ stream, account: client.accountNumber, state: 'live' }]);
    const verify = await world.run(['verify', '--wait', '10']);
    expect(await verify.exited, verify.tail()).toBe(0);
  });

  it('places and cancels there, and sends nothing twice when an answer is lost', async () => {
    const client = await alpacaClient(quick);
    const world = await World.create({ platform: alpacaSettings(client.at), env: { TIDEMARK_COMMANDS: 'on' } });
    const service = await world.serve();
    await service.waitLive();
    const env = { TIDEMARK_URL: await service.restAddress() };
    const run = async (...argv: string[]) => {
      const io = cliIo(env);
      await runProgram(io, [...argv, '--account', client.accountNumber, '--stream', stream, '--json']);
      return { code: io.code(), ...JSON.parse(io.out()) };
    };
    let cents = 50;
    // Each at a price of its own: an unresolved place declines another one like it.
    const place = (wait = '20', ...more: string[]) => {
      cents -= 1;
      const terms = ['--symbol', 'AAPL', '--side', 'buy', '--type', 'limit', '--qty', '10', '--price', `187.${cents}`];
      return run('place', ...terms, '--wait', wait, ...more);
    };
    const atVenue = async (attemptId: string) =>
      (await client.get(`/v2/orders:by_client_order_id?client_order_id=${attemptId}`)).json;
    // A 429 has the key rest for a second: an attempt within it is not sent.
    const sentOf = async ({ commandId }: { commandId: string }) =>
      world.query<{ id: string }>(
        "select attempt_id as id from attempts where command_id = $1 and state <> 'not_sent'",
        [commandId],
      );

    const placed = await place('20', '--extended-hours');
    expect(placed).toMatchObject({ code: 0, result: 'applied', orderStatus: 'new' });
    const [attempt] = await sentOf(placed);
    const shown = { id: placed.orderId, status: 'new', extended_hours: true };
    expect(await atVenue(attempt?.id ?? '')).toMatchObject(shown);
    expect(await run('cancel', placed.orderId, '--wait', '20')).toMatchObject({ code: 0, result: 'applied' });
    expect((await client.order(placed.orderId)).status).toBe('canceled');
    const io = cliIo(env);
    await runProgram(io, ['orders', 'show', placed.orderId, '--json']);
    expect(JSON.parse(io.out()).order).toMatchObject({ stream, order: { status: 'canceled', origin: 'tidemark' } });

    for (const [fault, applied] of [
      ['status_504', 'yes'],
      ['reset', 'yes'],
      ['status_500', 'late'],
      ['status_429', 'yes'],
      ['torn', 'yes'],
    ]) {
      await client.fault({ on: 'write', fault, applied, ...(applied === 'late' && { delayMs: 300 }) });
      const lost = await place();
      expect([fault, lost]).toEqual([fault, expect.objectContaining({ result: 'applied', orderStatus: 'new' })]);
      expect(await sentOf(lost)).toHaveLength(1);
    }
    for (const fault of ['status_504', 'reset', 'status_429']) {
      await client.fault({ on: 'write', fault, applied: 'no' });
      const [one, ...more] = await sentOf(await place('3'));
      expect([fault, more, (await atVenue(one?.id ?? '')).code]).toEqual([fault, [], 40410000]);
    }
    // One order for each place that the venue took.
    const ours = (await client.get('/v2/orders?status=all&limit=500')).json.filter(
      ({ client_order_id: id }: { client_order_id: string }) => id.startsWith('tm-'),
    );
    expect(ours).toHaveLength(6);
    const refused = await run('cancel', placed.orderId, '--wait', '20');
    expect(refused).toMatchObject({ code: 1, result: 'refused', orderStatus: 'canceled' });
  });

  it('replaces there, and finds the order that a lost replace has made, or that there is none', async () => {
    const client = await alpacaClient(quick);
    const world = await World.create({ platform: alpacaSettings(client.at), env: { TIDEMARK_COMMANDS: 'on' } });
    let service = await world.serve();
    await service.waitLive();
    const env = { TIDEMARK_URL: await service.restAddress() };
    const run = async (...argv: string[]) => {
      const io = cliIo(env);
      await runProgram(io, [...argv, '--account', client.accountNumber, '--stream', stream, '--json']);
      return { code: io.code(), said: io.err(), ...JSON.parse(io.out() || '{}') };
    };
    const terms = ['--symbol', 'AAPL', '--side', 'buy', '--type', 'limit', '--qty', '10'];
    const shown = async (orderId: string) => {
      const io = cliIo(env);
      await runProgram(io, ['orders', 'show', orderId, '--json']);
      return JSON.parse(io.out()).order.order;
    };

    const placed = await run('place', ...terms, '--price', '187.10', '--wait', '20');
    const replaced = await run('replace', placed.orderId, '--price', '187.20', '--qty', '12', '--wait', '20');
    expect(replaced).toMatchObject({ code: 0, kind: 'replace', result: 'applied' });
    expect(replaced.orderId).not.toBe(placed.orderId);
    await eventually(async () => {
      const before = { status: 'replaced', replacedBy: replaced.orderId };
      expect(await shown(placed.orderId)).toMatchObject(before);
      const after = { status: 'new', replaces: placed.orderId, quantity: '12', price: '187.2', origin: 'tidemark' };
      expect(await shown(replaced.orderId)).toMatchObject({ ...after, commandId: replaced.commandId });
    });
    // Its new order has its id, and both list it.
    for (const id of [placed.orderId, replaced.orderId]) {
      const { json } = await ask(`${env.TIDEMARK_URL}/v1/commands?kind=replace&q=${id}`);
      const listed = { commandId: replaced.commandId, orderId: replaced.orderId, replaces: placed.orderId };
      expect(json.items).toEqual([expect.objectContaining(listed)]);
    }
    const again = await run('replace', placed.orderId, '--price', '187.30');
    expect(again).toMatchObject({ code: 1, said: expect.stringContaining('the order is replaced') });

    // Each kept by the venue, and its answer lost: one order more, and the command has its id.
    let [orderId, cents] = [replaced.orderId as string, 20];
    for (const fault of ['status_504', 'reset', 'status_429', 'torn']) {
      cents += 1;
      await client.fault({ on: 'write', fault, applied: 'yes' });
      const lost = await run('replace', orderId, '--price', `187.${cents}`, '--wait', '20');
      expect([fault, lost]).toMatchObject([fault, { result: 'applied' }]);
      expect(lost.attempts.filter(({ state }: { state: string }) => state !== 'not_sent')).toHaveLength(1);
      expect(await client.order(lost.orderId)).toMatchObject({ status: 'new', replaces: orderId });
      orderId = lost.orderId;
    }
    // Not kept: it stays unknown over a restart, and ends with its order.
    await client.fault({ on: 'write', fault: 'status_504', applied: 'no' });
    const open = await run('replace', orderId, '--price', '187.40', '--wait', '3');
    expect(open).toMatchObject({ code: 75, result: 'unknown' });
    await service.kill9();
    service = await world.serve();
    await service.waitLive();
    env.TIDEMARK_URL = await service.restAddress();
    const second = await run('replace', orderId, '--price', '187.41');
    expect(second.said).toContain(`command ${open.commandId}, a replace of the same order, is unknown`);
    expect(await run('cancel', orderId, '--wait', '20')).toMatchObject({ result: 'applied' });
    await eventually(async () => {
      const io = cliIo(env);
      await runProgram(io, ['command', 'show', open.commandId, '--json']);
      expect(JSON.parse(io.out())).toMatchObject({ result: 'moot', recomputed: { agrees: true } });
    });
    const ours = (await client.get('/v2/orders?status=all&limit=500')).json.filter(
      ({ client_order_id: id }: { client_order_id: string }) => id.startsWith('tm-'),
    );
    expect(ours).toHaveLength(6);
    const { halts } = await service.status();
    expect(halts).toEqual([]);
  });

  it('waits for a person where its keys are refused', async () => {
    const client = await alpacaClient(quick);
    const world = await World.create({ platform: { ...alpacaSettings(client.at), ALPACA_SECRET_KEY: 'wrong' } });
    const service = await world.serve();
    await eventually(async () => {
      const { credentials } = await service.status();
      expect(credentials).toMatchObject([{ credential: 'alpaca', state: 'login_required' }]);
    });
  });
});

describe('issue: A fill that was taken back from an ended order stayed for ever where its event was lost.', () => {
  it('is found by the next audit: Postgres and Kafka have it', async () => {
    const client = await alpacaClient(quick);
    const world = await World.create({ platform: alpacaSettings(client.at) });
    const service = await world.serve();
    await service.waitLive();
    await eventually(async () => expect(await stored(world)).toEqual(await shownBy(client)));
    // Made days before the newest one: no audit lists it.
    const { json: ended } = await client.get('/v2/orders?status=closed&direction=asc&limit=500');
    const rows = ended as { id: string; status: string; filled_qty: string }[];
    const picked = rows.filter(({ status, filled_qty }) => status === 'canceled' && Number(filled_qty) > 1).slice(0, 2);
    expect(picked).toHaveLength(2);

    await client.fault({ on: 'event', fault: 'silent_loss', times: 2 });
    for (const [i, cumQty] of ['1', '0'].entries())
      await control(client.at, `/orders/${picked[i]?.id}`, { action: 'correct', cumQty });
    await eventually(async () => {
      const now = await stored(world);
      expect(picked.map(({ id }) => now.get(id))).toEqual(['canceled 1', 'canceled 0']);
    });
    expect(await stored(world)).toEqual(await shownBy(client));
    await eventually(async () => {
      const told = new Map<string, string>();
      for (const { value } of await readAll(world.brokers, world.topics.updates)) {
        const { order } = JSON.parse(value ?? '{}');
        told.set(order?.orderId, order?.cumQty);
      }
      expect(picked.map(({ id }) => told.get(id))).toEqual(['1', '0']);
    });
  });
});

it('a service follows the platform and Alpaca side by side', async () => {
  const client = await alpacaClient(quick);
  const { description } = await runningSandbox({ market: { rate: 0, openOrders: 20, knownOrders: 40 } });
  const both = { ...platformSettings(description), ...alpacaSettings(client.at), VENUES: 'platform,alpaca' };
  const world = await World.create({ platform: both });
  const service = await world.serve();
  await service.waitLive();
  await eventually(async () => expect(await stored(world)).toEqual(await shownBy(client)));
  const { accounts } = await service.status();
  const streams = new Set(accounts.map((row: { stream: string }) => row.stream));
  expect(streams).toEqual(new Set(['account', 'prediction', stream]));
});
