import { expect, it } from 'vitest';
import { freePort } from '../../src/demo/devstack/free-port.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import type { Random } from '../../src/runtime/random.ts';
import { alpacaSettings } from '../../src/sandbox/alpaca/describe-alpaca.ts';
import type { FaultOrder } from '../../src/sandbox/faults/fault-shapes.ts';
import { CommandLoad } from '../support/commands/command-load.ts';
import { expectCommandsTrue, quickCommandSettings } from '../support/commands/commands-under-kill-nine.ts';
import { TakenAccounts } from '../support/orders/taken-accounts.ts';
import { alpacaClient } from '../support/platform/alpaca.ts';
import { control } from '../support/platform/sandbox.ts';
import { RestCaller } from '../support/rest/rest-caller.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { printedRandom } from '../support/runs/test-seed.ts';

const fewestCommands = 250;
const fewestKills = 8;
const mostKills = 15;
const atOnce = 6;

/** Each answer that leaves a write in doubt, done or not. */
const writes: FaultOrder = {
  writes: {
    ...{ status_504: 0.06, status_500: 0.03, status_503: 0.02, status_429: 0.03, reset: 0.04, torn: 0.03 },
    ...{ html: 0.01, hang: 0.003 },
  },
  lateMs: [50, 3_000],
  // A 200 that shows another order. The 204 of a cancel shows none.
  rules: (['place', 'replace'] as const).map((write) => ({ on: 'write', fault: 'wrong_order', write, skip: 3 })),
};
/** By turns. */
const reads: readonly FaultOrder[] = [
  { stream: { silent_loss: 0.05, duplicate: 0.05, reorder: 0.05, drop: 0.01, cut: 0.005 } },
  { requests: { lag: 0.5, status_500: 0.05, status_429: 0.05, torn: 0.05 }, lagMs: 2000 },
  { orders: { hidden: 0.1, unreferenced: 0.1 }, concealMs: [200, 3000] },
];

type Client = Awaited<ReturnType<typeof alpacaClient>>;

/** Three processes, each with a port of its own over all restarts. */
class Three {
  kills = 0;
  readonly slots: RunningService[] = [];
  private readonly world: World;
  private readonly ports: readonly number[];
  private readonly taken: TakenAccounts;
  private readonly random: Random;

  constructor(world: World, parts: { ports: readonly number[]; taken: TakenAccounts; random: Random }) {
    this.world = world;
    this.ports = parts.ports;
    this.taken = parts.taken;
    this.random = parts.random;
  }

  async start(slot: number): Promise<void> {
    this.slots[slot] = await this.world.serve({ TIDEMARK_HTTP_PORT: String(this.ports[slot]) });
  }

  /** Mostly of the process that has the account. */
  async killOne(): Promise<void> {
    for (const { process } of this.slots)
      if (!process.running) throw new Error(`it ended by itself:\n${process.tail()}`);
    const takers = await this.taken.read(this.slots);
    const holder = this.slots.findIndex((service) => (takers.get(service)?.accounts.length ?? 0) > 0);
    const slot = holder >= 0 && this.random.next() < 0.8 ? holder : Math.floor(this.random.next() * this.slots.length);
    await this.slots[slot]?.kill9();
    this.kills += 1;
    await this.start(slot);
  }
}

/** Another program of the owner: it replaces orders of ours, with references of its own. */
async function meddle(client: Client, random: Random, isOver: () => boolean): Promise<void> {
  for (let count = 1; !isOver(); count += 1) {
    await systemClock.sleep(300 + random.next() * 700);
    const open = await client.get('/v2/orders?status=open&limit=100').catch(() => undefined);
    const ours = (open?.status === 200 ? open.json : []).filter(
      ({ client_order_id: id }: { client_order_id: string }) => id.startsWith('tm-'),
    );
    const order = ours[Math.floor(random.next() * ours.length)];
    if (order === undefined) continue;
    const body = { client_order_id: `ext-${count}`, limit_price: String(100 + (count % 50)) };
    await client.send('PATCH', `/v2/orders/${order.id}`, body).catch(() => undefined);
  }
}

it('three processes at Alpaca, killed with -9, its answers, stream and lists faulty, another program at the same orders: nothing is lost, doubled, sent twice or out of order, and each verdict is the truth', async () => {
  const random = printedRandom('alpaca-chaos');
  const client = await alpacaClient({
    market: { seed: Math.floor(random.next() * 2 ** 31), rate: 20, openOrders: 50, knownOrders: 80 },
    venue: { refuseShare: 0.05, answerMs: 20, depth: 500 },
    alpaca: { requestsPerMinute: 1_000_000 },
  });
  const { at, accountNumber } = client;
  const world = await World.create({ platform: alpacaSettings(at), env: quickCommandSettings });
  const ports = [await freePort(), await freePort(), await freePort()];
  const three = new Three(world, { ports, taken: new TakenAccounts(world.databaseUrl, [accountNumber]), random });
  for (const slot of ports.keys()) await three.start(slot);
  await Promise.any(three.slots.map((service) => service.waitLive()));

  const rest = new RestCaller(ports.map((port) => `http://127.0.0.1:${port}`));
  const accounts = [{ id: accountNumber, predictions: false, securities: 'alpaca_paper' } as const];
  const load = new CommandLoad({ rest, random, accounts });
  let over = false;
  const killing = (async () => {
    while (three.kills < fewestKills || (load.acknowledged.size < fewestCommands && three.kills < mostKills)) {
      await control(at, '/heal', {});
      await control(at, '/faults', { ...writes, ...reads[three.kills % reads.length] });
      const wanted = load.acknowledged.size + 10;
      await systemClock.sleep(2_000);
      await eventually(() => expect(load.acknowledged.size).toBeGreaterThanOrEqual(wanted), { deadlineMs: 120_000 });
      await systemClock.sleep(random.next() * 2_000);
      await three.killOne();
    }
  })().finally(() => {
    over = true;
  });
  const isOver = () => over;
  await Promise.all([
    load.run(() => over && load.acknowledged.size >= fewestCommands, atOnce),
    killing,
    meddle(client, random, isOver),
  ]);

  await control(at, '/heal', {});
  await control(at, '/rate', { rate: 0 });
  await Promise.any(three.slots.map((service) => service.waitLive()));
  await expectCommandsTrue({ world, description: at, rest, load, commands: fewestCommands });
  expect(await world.resolvedProof(at)).toMatchObject(nothingWrong);
  expect(await world.query('select reason, raw from dead_letters')).toEqual([]);
  const kinds = await world.query<{ kind: string; state: string; count: number }>(
    'select kind, state, count(*)::int from commands group by 1, 2 order by 1, 2',
  );
  process.stdout.write(`${JSON.stringify({ kills: three.kills, kinds, declined: [...load.declined] })}\n`);
  const halts = await world.query<{ reason: string }>('select * from halts');
  expect(halts).toEqual([]);
  expect(kinds).toContainEqual(expect.objectContaining({ kind: 'replace', state: 'applied' }));
  const lines = world.services.flatMap(({ process }) => process.log());
  expect(lines.filter(({ level }) => level === 'fatal')).toEqual([]);
  for (const service of three.slots) expect(await service.stop()).toBe(0);
}, 900_000);
