import { describe, expect, it } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';
import { atEnd, forFile } from '../support/commands/at-end.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { EventReader } from '../support/rest/event-reader.ts';
import { callAt } from '../support/rest/rest-call.ts';
import { sha256 } from '../support/rest/rest-rig.ts';
import { eventually } from '../support/runs/poll.ts';
import { type RunningService, World } from '../support/runs/service-under-test.ts';
import { longLeases, untilShardsAt } from './parts/serve-together.ts';

const resting = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };
const word = { reason: 'a drill' };
const mine = 'SIM-1001';

/** Two processes, so two lanes, whose updates stand in one log; and two principals. */
const parts = forFile(async () => {
  const { description: sandbox } = await runningSandbox({
    accounts: 4,
    market: { rate: 60, openOrders: 40, knownOrders: 60 },
  });
  const tokens = [
    `all:${sha256('all')}:orders:read,orders:write,ops:read,ops:write:*`,
    `desk:${sha256('desk')}:orders:read,ops:read:${mine}`,
  ];
  const env = { ...longLeases, TIDEMARK_COMMANDS: 'on', TIDEMARK_AUTH_TOKENS: tokens.join(' ') };
  const world = await World.create({ platform: platformSettings(sandbox), env });
  const services = [await world.serve()];
  await services[0]?.waitLive();
  services.push(await world.serve());
  await untilShardsAt(world, [0, 1]);
  return { sandbox, world, services };
});

const addressesOf = (services: readonly RunningService[]) => Promise.all(services.map((each) => each.restAddress()));

interface Followed {
  /** Every event that came, by every connection. */
  readonly events: { readonly event: string; readonly id?: string; readonly data: string }[];
  readonly connections: number;
  stop(): Promise<void>;
}

/**
 * A client that is cut again and again, at any moment, and goes on after its last id at the other
 * process, as behind a balancer. It begins after `from`.
 */
function followCut(addresses: () => readonly string[], query: string, token: string, from: string, seed: number) {
  const random = seededRandom(seed);
  const followed = { events: [] as Followed['events'], connections: 0, over: false };
  const run = (async () => {
    let lastId = from;
    while (!followed.over) {
      const all = addresses();
      const address = all[followed.connections % all.length];
      followed.connections += 1;
      const headers = { authorization: `Bearer ${token}`, 'last-event-id': lastId };
      const reader = await EventReader.open(`${address}/v1/stream${query}`, headers).catch(() => undefined);
      if (reader === undefined) continue;
      expect(reader.status).toBe(200);
      // Cut after so many events, or after its first id alone; none may come for a quiet reader.
      const count = Math.floor(random.next() * 30);
      await eventually(
        () => expect(followed.over || reader.ended || reader.events.length >= count || reader.silentIds > 1).toBe(true),
        { everyMs: 1, deadlineMs: 2_000 },
      ).catch(() => undefined);
      followed.events.push(...reader.events);
      lastId = reader.lastId ?? lastId;
      reader.close();
    }
  })();
  return {
    events: followed.events,
    get connections() {
      return followed.connections;
    },
    stop: async () => {
      followed.over = true;
      await run;
    },
  };
}

const seqOf = ({ id = '' }: { readonly id?: string }) => id.split('.')[0];
const textsOf = (events: Followed['events'], kind: string) =>
  events.filter(({ event }) => event === kind).map(({ data }) => data);

describe('Last-Event-ID, with two processes and a market', () => {
  it('resumes a client that is cut at any moment, at either process: it misses nothing, and gets nothing twice', async () => {
    const { sandbox, world, services } = parts();
    let addresses = await addressesOf(services);
    const reader = await EventReader.open(`${addresses[0]}/v1/stream?events=result,halt`, {
      authorization: 'Bearer all',
    });
    await eventually(() => expect(reader.lastId).toBeDefined());
    reader.close();
    const from = reader.lastId ?? '';
    const of = {
      everything: ['?events=result,halt', 'all'],
      'updates alone': ['', 'all'],
      'one stream': ['?stream=prediction', 'all'],
      'one principal': ['?events=result,halt', 'desk'],
    } as const;
    const followed = Object.entries(of).map(([name, [query, token]], seed) => ({
      name,
      ...{ follow: followCut(() => addresses, query, token, from, seed + 1) },
    }));
    const place = (accountId: string, token = 'all') =>
      callAt(addresses[0] ?? '', 'POST', '/v1/orders', { body: { accountId, ...resting }, token, wait: 5 });
    for (let round = 0; round < 6; round += 1) {
      await place(round % 2 === 0 ? mine : 'SIM-1002');
      for (const act of ['halt', 'resume'])
        expect(
          (await callAt(addresses[1] ?? '', 'POST', `/v1/accounts/${mine}/${act}`, { body: word, token: 'all' }))
            .status,
        ).toBe(200);
    }
    // One of them is killed with its clients, and another comes in its place.
    await services[1]?.kill9();
    addresses = addresses.slice(0, 1);
    await untilShardsAt(world, [0]);
    services[1] = await world.serve();
    addresses = await addressesOf(services);
    await place(mine);
    await untilShardsAt(world, [0, 1]);
    await control(sandbox, '/rate', { rate: 0 });
    await world.resolvedProof(sandbox);

    const [fromSeq, fromTx, fromNumber] = from.split('.');
    const log = await world.query<{ seq: string; stream: string; account_id: string; payload: string }>(
      `select seq::text, stream, account_id, payload from order_updates where stream <> 'watermarks' and seq > $1 order by order_updates.seq`,
      [fromSeq],
    );
    const steps = await world.query<{ account_id: string; position: string; event: string }>(
      `select account_id, command_events.tx_id::text || '.' || command_events.id as position, command_events.command_id || ':' || command_events.version as event
       from command_events join commands using (command_id) where command_events.tx_id >= $1::text::xid8 order by command_events.tx_id, command_events.id`,
      [fromTx],
    );
    expect([log.length > 500, steps.length > 10, fromNumber]).toEqual([true, true, '0']);
    for (const { name, follow } of followed) {
      const desk = name === 'one principal';
      const wanted = log.filter(
        (row) => (!desk || row.account_id === mine) && (name !== 'one stream' || row.stream === 'prediction'),
      );
      const updates = () => follow.events.filter(({ event }) => event === 'update');
      await eventually(() => expect(seqOf(updates().at(-1) ?? {}), name).toBe(wanted.at(-1)?.seq));
      await follow.stop();
      expect(updates().map(seqOf), name).toEqual(wanted.map(({ seq }) => seq));
      expect(textsOf(follow.events, 'update'), name).toEqual(wanted.map(({ payload }) => payload));
      expect(textsOf(follow.events, 'reset'), name).toEqual([]);
      expect(follow.connections, name).toBeGreaterThan(10);
      if (!of[name as keyof typeof of][0].includes('events')) continue;
      const results = follow.events.filter(({ event }) => event === 'result');
      expect(
        results.map(({ id, data }) => [id?.replace(/^\d+\./, ''), JSON.parse(data).eventId]),
        name,
      ).toEqual(
        steps.filter((row) => !desk || row.account_id === mine).map(({ position, event }) => [position, event]),
      );
      const halts = textsOf(follow.events, 'halt').map((data) => JSON.parse(data).inForce);
      expect(halts, name).toEqual(Array.from({ length: 12 }, (_, at) => at % 2 === 0));
    }
  });

  const resumed = async (id: string, token: string, query = '?events=result,halt') => {
    const { services } = parts();
    const [address] = await addressesOf(services);
    const headers = { authorization: `Bearer ${token}`, 'last-event-id': id };
    const reader = await EventReader.open(`${address}/v1/stream${query}`, headers);
    atEnd(() => reader.close());
    return reader;
  };

  it('an id of the future is answered with a reset, and the stream goes on from the place that it names', async () => {
    const { world, services } = parts();
    const [{ newest } = { newest: '' }] = await world.query<{ newest: string }>(
      'select max(seq)::text as newest from order_updates',
    );
    const future = await resumed(`${BigInt(newest) + 1_000_000n}`, 'desk', '');
    const [reset] = await future.take(1);
    expect(JSON.parse(reset?.data ?? '')).toEqual({ reason: 'unknown_id', goingOnAfter: newest });
    const placed = await callAt(await (services[0] as RunningService).restAddress(), 'POST', '/v1/orders', {
      body: { accountId: mine, ...resting },
      token: 'all',
      wait: 5,
    });
    const [, update] = await future.take(2);
    expect(JSON.parse(update?.data ?? '').order.commandId).toBe(placed.body.commandId);
  });

  it.each(['', ' ', '-1', '007', '1,2', '1.2', '1.2.3.4', '0x10', '9'.repeat(19), '١', 'null'])(
    'the id %j is refused, and the answer says what is wrong',
    async (id) => {
      const { services } = parts();
      const [address] = await addressesOf(services);
      const { status, body } = await callAt(address ?? '', 'GET', `/v1/stream?after=${encodeURIComponent(id)}`, {
        token: 'desk',
      });
      expect([status, body.code, body.detail]).toEqual([400, expect.any(String), expect.any(String)]);
    },
  );

  it("another principal's id shows a principal only its own accounts", async () => {
    const all = await resumed('0.0.0', 'all');
    await eventually(() => expect(all.events.some(({ event }) => event === 'update')).toBe(true));
    const desk = await resumed(all.events.find(({ event }) => event === 'update')?.id ?? '', 'desk');
    await desk.take(20);
    const accounts = desk.events
      .filter(({ event }) => event !== 'reset')
      .map(({ data }) => JSON.parse(data).accountId ?? JSON.parse(data).scope?.accountId);
    expect(new Set(accounts)).toEqual(new Set([mine]));
  });
});
