import { expect, it, onTestFinished } from 'vitest';
import { Verifier } from '../../docs/consumers/verify.ts';
import { freePort } from '../../src/demo/devstack/free-port.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import type { Random } from '../../src/runtime/random.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import type { TopicRecord } from '../../src/service/log/follow-topic.ts';
import { CommandLoad } from '../support/commands/command-load.ts';
import { expectCommandsTrue, quickCommandSettings } from '../support/commands/commands-under-kill-nine.ts';
import { TakenAccounts } from '../support/orders/taken-accounts.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { RestCaller } from '../support/rest/rest-caller.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { printedRandom } from '../support/runs/test-seed.ts';
import { readAll } from '../support/servers/kafka-fixture.ts';
import { CalmDelays, describeDelays } from './parts/calm-delays.ts';
import { DarkTimes } from './parts/dark-times.ts';
import { expectStateTopicWhole } from './parts/expect-state-topic.ts';
import { fleetNetworks, type Peer, type ProcessNetwork } from './parts/fleet-network.ts';

/**
 * `npm run test:deep` takes two minutes; a long run by hand, as of ten, has the leases and the
 * probes of an installation: its dark times are those of one.
 */
const minutes = Number(process.env['TIDEMARK_CHAOS_MINUTES'] ?? 2);
const settings = {
  ...(minutes > 2 ? asInstalled(quickCommandSettings) : quickCommandSettings),
  // A bound against hanging. With the usual 25 s a restart ended with 1 on a machine with a load of
  // 15 on two cores: each step of its drain took 0.5 to 15 s, behind proxies in this process.
  TIDEMARK_DRAIN_DEADLINE_MS: '120000',
};
const leaseMs = minutes > 2 ? 6_000 : Number(quickCommandSettings.TIDEMARK_LEASE_TTL_MS);
/**
 * `TIDEMARK_CHAOS_NEAR=1`: Postgres and Kafka are as near as they are; without it each answer of
 * theirs is late, as from another zone.
 */
const near = process.env['TIDEMARK_CHAOS_NEAR'] === '1';
/** Changes a second of the market. */
const rate = Number(process.env['TIDEMARK_CHAOS_RATE'] ?? 60);
const everyMs = 5_000;
const longestMinutes = minutes + 6;
const lookEveryMs = 200;
const fewestCommands = 200;
const atOnce = 4;

function asInstalled(env: Readonly<Record<string, string>>): Record<string, string> {
  const leases = { TIDEMARK_LEASE_RENEW_MS: '2000', TIDEMARK_LEASE_MARGIN_MS: '3000', TIDEMARK_LEASE_TTL_MS: '6000' };
  return { ...env, ...leases, TIDEMARK_PROBE_RATE: '5', TIDEMARK_PROBE_BURST: '20' };
}

/**
 * Three processes, and now and then a fourth. Each keeps its port for
 * REST, and its network, over its restarts.
 */
class Fleet {
  /** Each process that ever ran. */
  readonly started: RunningService[] = [];
  readonly darkTimes = new DarkTimes();
  readonly calmDelays = new CalmDelays();
  /** Processes that are cut from Kafka: they serve their accounts, and their records are late. */
  readonly cutFromKafka = new Set<string>();
  private readonly running: (RunningService | undefined)[] = [];
  private readonly world: World;
  private readonly ports: readonly number[];
  private readonly networks: readonly ProcessNetwork[];
  private readonly random: Random;

  constructor(world: World, parts: { ports: readonly number[]; networks: readonly ProcessNetwork[]; random: Random }) {
    this.world = world;
    this.ports = parts.ports;
    this.networks = parts.networks;
    this.random = parts.random;
  }

  get services(): readonly RunningService[] {
    return this.running.filter((service) => service !== undefined);
  }

  async start(slot: number): Promise<void> {
    const service = await this.world.serve({
      ...this.networks[slot]?.env,
      TIDEMARK_HTTP_PORT: String(this.ports[slot]),
    });
    this.started.push(service);
    this.running[slot] = service;
  }

  /** What may befall a fleet, each by its name. */
  readonly disturbances: Readonly<Record<string, () => Promise<void>>> = {
    'kill -9': async () => {
      const slot = this.anySlot();
      const service = this.running[slot];
      if (service !== undefined) this.darkTimes.strike(nameOf(service), 'kill -9');
      await service?.kill9();
      await this.start(slot);
    },
    freeze: async () => {
      const service = this.running[this.anySlot()];
      if (service === undefined) return;
      service.process.signal('SIGSTOP');
      await this.whileStruck(service, 'freeze');
      service.process.signal('SIGCONT');
      this.darkTimes.release(nameOf(service));
    },
    restart: async () => {
      const slot = this.anySlot();
      const service = this.running[slot];
      if (service !== undefined) await stopInOrder(service);
      await this.start(slot);
    },
    'one more, or its end': async () => {
      const last = this.ports.length - 1;
      if (this.running[last] === undefined) return this.start(last);
      await stopInOrder(this.running[last]);
      this.running[last] = undefined;
    },
    'cut from Postgres': () => this.cut('Postgres'),
    'cut from Kafka': () => this.cut('Kafka'),
    'cut from the platform': () => this.cut('the platform'),
  };

  private async cut(peer: Peer): Promise<void> {
    const slot = this.anySlot();
    const service = this.running[slot];
    if (service === undefined) return;
    this.networks[slot]?.cut(peer);
    // Without Kafka the process follows its accounts as before, and
    // commits what comes: its records are late.
    if (peer === 'Kafka') {
      this.cutFromKafka.add(nameOf(service));
      this.darkTimes.hamper(nameOf(service));
      await this.aWhile();
    } else await this.whileStruck(service, `cut from ${peer}`);
    reopen(this.networks[slot]);
    this.darkTimes.release(nameOf(service));
    this.cutFromKafka.delete(nameOf(service));
  }

  private async whileStruck(service: RunningService, cause: string): Promise<void> {
    this.darkTimes.strike(nameOf(service), cause);
    await this.aWhile();
  }

  /** Longer than the lease of a process that can't renew it. */
  private aWhile(): Promise<void> {
    return systemClock.sleep(leaseMs + 1_000 + this.random.next() * 2_000);
  }

  private anySlot(): number {
    return Math.floor(this.random.next() * (this.ports.length - 1));
  }
}

/** Says what it wrote since it was asked to end, if it did not end in order. */
async function stopInOrder(service: RunningService): Promise<void> {
  const before = service.process.log().length;
  const code = await service.stop();
  const said = service.process.log().slice(before);
  expect(code, said.map((line) => JSON.stringify(line)).join('\n')).toBe(0);
}

const reopen = (network: ProcessNetwork | undefined) => (near ? network?.pass() : network?.slow());
const nameOf = (service: RunningService) => String(service.process.pid);

/**
 * For so many minutes, and on a machine that is slow today until there were `enough` commands: how
 * many there are in two minutes is a measure of the machine.
 */
async function disturb(fleet: Fleet, random: Random, enough: () => boolean): Promise<void> {
  const kinds = Object.entries(fleet.disturbances);
  const beganMs = systemClock.monotonicMs();
  let round: typeof kinds = [];
  for (;;) {
    const ranMs = systemClock.monotonicMs() - beganMs;
    if (ranMs >= minutes * 60_000 && (enough() || ranMs >= longestMinutes * 60_000)) return;
    // Each kind once in a round, so that none is left out by chance.
    if (round.length === 0) round = kinds.toSorted(() => random.next() - 0.5);
    const [name, act] = round.pop() ?? [];
    for (const { process } of fleet.services)
      if (!process.running) throw new Error(`it ended by itself:\n${process.tail()}`);
    await systemClock.sleep(everyMs);
    await act?.().catch((error: unknown) => {
      throw new Error(`${name} failed`, { cause: error });
    });
  }
}

/**
 * Asks every process which accounts are live there, again and again. One that does not answer in
 * time keeps its last word: only what strikes it takes that away.
 */
async function watchDarkTimes(fleet: Fleet, taken: TakenAccounts, isOver: () => boolean): Promise<void> {
  const live = new Map<string, readonly string[]>();
  const asked = new Set<RunningService>();
  while (!isOver()) {
    for (const service of fleet.services) {
      if (asked.has(service)) continue;
      asked.add(service);
      void liveAt(service)
        .then((accounts) => live.set(nameOf(service), accounts))
        .catch(() => undefined)
        .finally(() => asked.delete(service));
    }
    for (const service of fleet.started)
      if (!service.process.running || fleet.darkTimes.isStruck(nameOf(service))) live.delete(nameOf(service));
    const takers = new Map(
      [...(await taken.read(fleet.started))].map(([service, accounts]) => [nameOf(service), accounts]),
    );
    const served = fleet.darkTimes.look(systemClock.monotonicMs(), live, takers);
    fleet.calmDelays.look(
      systemClock.nowMs(),
      new Map([...served].filter(([, name]) => !fleet.cutFromKafka.has(name))),
    );
    await systemClock.sleep(lookEveryMs);
  }
}

async function liveAt(service: RunningService): Promise<readonly string[]> {
  const { lane, accounts } = await service.status();
  const rows: readonly { account: string; state: string }[] = lane.mayAct ? accounts : [];
  const notLive = new Set(
    rows.filter(({ state }) => !['live', 'not_enrolled'].includes(state)).map(({ account }) => account),
  );
  return [...new Set(rows.map(({ account }) => account))].filter((account) => !notLive.has(account));
}

it(
  'three processes that are killed, frozen, cut off, restarted and joined by a fourth, commands through any of them: nothing is lost, doubled, sent twice or out of order',
  async () => {
    const random = printedRandom('fleet');
    const { description } = await runningSandbox({
      accounts: 12,
      market: { seed: Math.floor(random.next() * 2 ** 31), rate, openOrders: 50, knownOrders: 80 },
    });
    const ports = [await freePort(), await freePort(), await freePort(), await freePort()];
    const { brokers, networksTo } = await fleetNetworks(ports.length);
    const world = await World.create({ brokers, platform: platformSettings(description), env: settings });
    const networks = await networksTo(world.databaseUrl, description);
    const fleet = new Fleet(world, { ports, networks, random });
    for (const slot of [0, 1, 2]) await fleet.start(slot);
    await Promise.any(fleet.services.map((service) => service.waitLive()));
    for (const network of networks) reopen(network);
    await control(description, '/faults', { writes: { outcome_unknown: 0.03, reset: 0.01 }, lateMs: [50, 2_000] });

    const rest = new RestCaller(ports.map((port) => `http://127.0.0.1:${port}`));
    const accounts = description.users.filter(({ username }) => username !== 'carol').flatMap((user) => user.accounts);
    const load = new CommandLoad({ rest, random, accounts });
    let [over, served] = [false, false];
    const ids = description.users.flatMap((user) => user.accounts.map(({ id }) => id));
    const watched = watchDarkTimes(fleet, new TakenAccounts(world.databaseUrl, ids), () => served);
    // Also where the test fails: a look after the end would hide why.
    onTestFinished(() => {
      served = true;
      return watched.catch(() => undefined);
    });
    const hasEnough = () => load.acknowledged.size >= fewestCommands;
    const disturbed = disturb(fleet, random, hasEnough).finally(() => {
      over = true;
    });
    await Promise.all([load.run(() => over, atOnce), disturbed]);
    await eventually(() => expect(fleet.darkTimes.darkNow).toEqual([]), { deadlineMs: 120_000, everyMs: lookEveryMs });
    served = true;
    await watched;
    for (const line of fleet.darkTimes.report()) process.stdout.write(`${line}\n`);

    for (const network of networks) network.pass();
    await control(description, '/heal');
    await control(description, '/rate', { rate: 0 });
    const live =
      'select lane from lanes where holder is not null and extract(epoch from clock_timestamp() - renewed_at) * 1000 < $1';
    await eventually(
      async () =>
        expect(
          await world.query(`select shard from shards where lane not in (${live}) or lane is null`, [leaseMs]),
        ).toEqual([]),
      { deadlineMs: 60_000, everyMs: 250 },
    );
    await expectCommandsTrue({ world, description, rest, load, commands: fewestCommands });
    expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
    await expectStateTopicWhole(world);
    const updates = await readAll(world.brokers, world.topics.updates);
    await expectProvenToConsumers(world, updates);
    const delays = fleet.calmDelays.delays(updates);
    expect(delays.length).toBeGreaterThan(0);
    process.stdout.write(`${describeDelays(delays)}\n`);

    const lines = fleet.started.flatMap(({ process }) => process.log());
    expect(lines.filter(({ level }) => level === 'fatal')).toEqual([]);
    expect(lines.filter(({ msg }) => /a lane without a process was finished/.test(msg)).length).toBeGreaterThan(0);
    const lanes = await world.query('select distinct lane from order_updates');
    expect(lanes.length, 'several wrote').toBeGreaterThanOrEqual(3);
    await Promise.all(fleet.services.map(stopInOrder));
    expect(await world.query('select shard from shards where lane is not null')).toEqual([]);
  },
  (longestMinutes + 8) * 60_000,
);

/** Each process proves also what another one had committed in its lane before. */
async function expectProvenToConsumers(world: World, updates: readonly TopicRecord[]): Promise<void> {
  const verifier = new Verifier();
  for (const { value = '' } of updates) verifier.update(value);
  const marks = await readAll(world.brokers, world.topics.watermarks);
  expect(marks.flatMap(({ value = '' }) => verifier.mark(value))).toEqual([]);
  expect(verifier.complete().length).toBeGreaterThan(0);
}
