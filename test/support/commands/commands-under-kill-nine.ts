import { expect } from 'vitest';
import { freePort } from '../../../src/demo/devstack/free-port.ts';
import { readCommandTruth } from '../../../src/demo/proof/command-truth.ts';
import { type JournaledCommand, journaledCommands, judgeCommands } from '../../../src/demo/proof/judge-commands.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { platformSettings } from '../../../src/sandbox/describe-sandbox.ts';
import type { FaultOrder } from '../../../src/sandbox/faults/fault-shapes.ts';
import { control, runningSandbox } from '../platform/sandbox.ts';
import { RestCaller } from '../rest/rest-caller.ts';
import { eventually } from '../runs/poll.ts';
import { nothingWrong, type ProvenSandbox, type RunningService, World } from '../runs/service-under-test.ts';
import { printedRandom } from '../runs/test-seed.ts';
import { readAll } from '../servers/kafka-fixture.ts';
import { withDossiers } from './command-dossier.ts';
import { CommandLoad } from './command-load.ts';

const atOnce = 24;

/**
 * What every write may meet throughout: an answer that says nothing, no answer, half of one,
 * another order's, one of the two that promise that nothing was sent.
 */
const writes: FaultOrder = {
  writes: {
    outcome_unknown: 0.06,
    status_504: 0.02,
    at_capacity: 0.02,
    unavailable: 0.02,
    status_429: 0.01,
    status_503: 0.01,
    status_500: 0.01,
    status_401: 0.01,
    html: 0.01,
    redirect: 0.01,
    torn: 0.02,
    reset: 0.02,
    hang: 0.003,
    wrong_order: 0.01,
  },
  lateMs: [50, 6000],
};
/** What reading is like meanwhile, by turns. */
const reads: readonly FaultOrder[] = [
  {},
  { orders: { hidden: 0.1, unreferenced: 0.1 }, concealMs: [200, 4000] },
  { stream: { silent_loss: 0.05, duplicate: 0.05, reorder: 0.05 } },
  { requests: { lag: 0.5, status_500: 0.1, torn: 0.05 }, lagMs: 2000, stream: { drop: 0.01, cut: 0.005 } },
];
/** Work of a process before it is killed, counted from the command that lets the next kill come. */
const longestWorkMs = 3_500;
const shortestWorkMs = 700;
/**
 * So many kills at most until the load has what it wants: a kill for each first
 * command that was acknowledged left two processes no time to do more than
 * start, and the run took a quarter of an hour.
 */
const mostKills = 20;

/**
 * Quick leases and probes; brakes on placing far away, since what is
 * shown is what happens when nothing brakes.
 */
export const quickCommandSettings = {
  TIDEMARK_LEASE_RENEW_MS: '200',
  TIDEMARK_LEASE_MARGIN_MS: '400',
  TIDEMARK_LEASE_TTL_MS: '1000',
  TIDEMARK_COMMANDS: 'on',
  // Also while the stream is not there: what is sent then is learnt of late, or by probes alone.
  TIDEMARK_COMMAND_NEEDS_LIVE: 'off',
  TIDEMARK_COMMAND_RATE: '10000',
  TIDEMARK_COMMAND_BURST: '100000',
  TIDEMARK_BREAKER_COMMANDS: '1000000',
  TIDEMARK_HALT_UNRESOLVED_ACCOUNT: '100000',
  TIDEMARK_HALT_UNRESOLVED_SERVICE: '100000',
  TIDEMARK_PROBE_RATE: '100',
  TIDEMARK_PROBE_BURST: '200',
};

/**
 * So many commands through write faults of every kind, processes killed with -9 every few seconds,
 * others taking over: none is sent twice, none is lost, and each verdict is what the platform's
 * ledger says. The load goes on until it was killed so often: a quick machine is done with its
 * commands before that means something.
 */
export async function commandsUnderKillNine({
  commands,
  kills: fewestKills,
}: {
  commands: number;
  kills: number;
}): Promise<void> {
  const random = printedRandom('commands-kill-nine');
  const sandbox = await runningSandbox({
    market: { seed: Math.floor(random.next() * 2 ** 31), rate: 40, openOrders: 50, knownOrders: 80 },
    venue: { refuseShare: 0.05 },
  });
  const { description } = sandbox;
  const world = await World.create({ platform: platformSettings(description), env: quickCommandSettings });
  const ports = [await freePort(), await freePort()];
  const rest = new RestCaller(ports.map((port) => `http://127.0.0.1:${port}`));
  const slots: RunningService[] = [];
  const startIn = async (slot: number) => {
    slots[slot] = await world.serve({ TIDEMARK_HTTP_PORT: String(ports[slot]) });
  };
  await startIn(0);
  await slots[0]?.waitLive();
  await control(description, '/faults', writes);

  const accounts = description.users.filter(({ username }) => username !== 'carol').flatMap((user) => user.accounts);
  const load = new CommandLoad({ rest, random, accounts });
  const sending = new AbortController();
  const kills = new Kills();
  const killing = killByTurns(
    {
      random,
      slots,
      startIn,
      load,
      kills,
      each: Math.ceil(commands / mostKills),
      at: (turn) => control(description, '/faults', reads[turn % reads.length]),
    },
    sending.signal,
  );
  const killed = killing.catch((error: unknown) => {
    load.stop();
    throw error;
  });
  killed.catch(() => undefined);
  await load
    .run(() => load.acknowledged.size >= commands && kills.count >= fewestKills, atOnce)
    .catch((error: unknown) => {
      const tails = slots.map((service) => `running: ${service.process.running}\n${service.process.tail()}`);
      throw new Error(`${String(error)}\n${tails.join('\n')}`);
    })
    .finally(() => sending.abort());
  await killed;

  await control(description, '/heal');
  await control(description, '/rate', { rate: 0 });
  // One that has started late holds no shard yet, and follows nothing.
  await Promise.any(slots.map((service) => service.waitLive()));
  await expectCommandsTrue({ world, description, rest, load, commands });
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  for (const service of slots) if (service?.process.running) expect(await service.stop()).toBe(0);
}

interface CommandsSent {
  readonly world: World;
  readonly description: ProvenSandbox;
  readonly rest: RestCaller;
  readonly load: CommandLoad;
  /** At least so many were acknowledged. */
  readonly commands: number;
}

/**
 * When the market is at rest and healed: no command was sent twice or lost, each verdict is what
 * the ledger says, and REST, orders and topic show it.
 */
export function expectCommandsTrue(sent: CommandsSent): Promise<void> {
  return withDossiers(sent, () => expectAllTrue(sent));
}

async function expectAllTrue({ world, description, rest, load, commands }: CommandsSent): Promise<void> {
  const journaled = await eventually(
    async () => {
      const rows = await readJournal(world);
      const faults = judgeCommands(rows, await readCommandTruth(fetch, description.control));
      if (faults.length > 0) throw new Error(`${faults.length} faults:\n${faults.slice(0, 20).join('\n')}`);
      return rows;
    },
    { deadlineMs: 180_000, everyMs: 1000 },
  );
  expectKept(load, journaled, commands);
  await expectVisible(rest, world);
  await expectOrdersNamed(world);
  await expectResultsWhole(world);
}

class Kills {
  count = 0;
}

interface Killing {
  readonly random: Random;
  readonly slots: readonly RunningService[];
  readonly load: CommandLoad;
  readonly kills: Kills;
  /** Commands to be acknowledged between two kills. */
  readonly each: number;
  readonly startIn: (slot: number) => Promise<void>;
  readonly at: (turn: number) => Promise<unknown>;
}

/**
 * Each time, one is killed a while after some commands were acknowledged. First there is one
 * process alone: killed and started again. From the fourth kill on there are two: the other one
 * finishes its lane and takes its shards, or it comes back in time and goes on with them.
 */
async function killByTurns(
  { random, slots, startIn, load, kills, each, at }: Killing,
  signal: AbortSignal,
): Promise<void> {
  for (let turn = 0; !signal.aborted; turn += 1) {
    await at(turn);
    if (turn === 3) await startIn(1);
    const wanted = load.acknowledged.size + each;
    while (!signal.aborted && load.acknowledged.size < wanted) {
      for (const { process } of slots) if (!process.running) throw new Error(`it ended by itself:\n${process.tail()}`);
      await systemClock.sleep(20);
    }
    await systemClock.sleep(shortestWorkMs + random.next() * (longestWorkMs - shortestWorkMs));
    if (signal.aborted) return;
    const slot = turn < 3 ? 0 : turn % 2;
    await slots[slot]?.kill9();
    kills.count += 1;
    await startIn(slot);
  }
}

async function readJournal(world: World): Promise<JournaledCommand[]> {
  return world.query<JournaledCommand>(journaledCommands);
}

/**
 * What a caller was told once stays true: each acknowledged key
 * is one command, each command one key.
 */
function expectKept(load: CommandLoad, journaled: readonly JournaledCommand[], commands: number): void {
  expect(load.contradictions).toEqual([]);
  const known = new Set(journaled.map(({ commandId }) => commandId));
  const told = [...load.acknowledged.values()].map(({ commandId }) => commandId);
  expect(told.length).toBeGreaterThanOrEqual(commands);
  expect(new Set(told).size, 'no two keys are one command').toBe(told.length);
  expect(told.filter((commandId) => !known.has(commandId))).toEqual([]);
}

/**
 * What nobody knows is where the person on call looks for it. One may be resolved between the two
 * reads.
 */
async function expectVisible(rest: RestCaller, world: World): Promise<void> {
  await eventually(async () => {
    const journaled = await readJournal(world);
    const shown = await rest.all('/v1/commands?unresolved=true');
    const unresolved = journaled.filter(({ state }) => state === 'unknown' || state === 'conflict' || state === 'open');
    expect(new Set(shown.map(({ commandId }) => commandId))).toEqual(
      new Set(unresolved.map(({ commandId }) => commandId)),
    );
  });
}

/** Each placed order says whose it is, in the state and in every update since. */
async function expectOrdersNamed(world: World): Promise<void> {
  const wrong = await world.query(
    `select c.command_id, o.order_id from commands c left join current_orders o on o.stream = c.stream and o.order_id = c.order_id
     where c.state = 'applied' and (c.kind = 'place' or c.kind = 'replace' and c.stream = 'alpaca_paper')
       and (o.order_id is null or o.state ->> 'commandId' is distinct from c.command_id::text
         or o.state ->> 'callerRef' is distinct from c.caller_ref or o.state ->> 'origin' is distinct from 'tidemark')`,
  );
  expect(wrong).toEqual([]);
}

/**
 * Every step of every command is on its topic, its first occurrences
 * in order, the last as the database has it.
 */
async function expectResultsWhole(world: World): Promise<void> {
  const rows = await world.query<{ commandId: string; version: number; state: string }>(
    `select command_id as "commandId", version, state from commands`,
  );
  await eventually(
    async () => {
      const seen = new Map<string, { version: number; state: string }>();
      for (const { value } of await readAll(world.brokers, world.topics.results)) {
        const { commandId, version, state } = JSON.parse(String(value));
        const before = seen.get(commandId)?.version ?? 0;
        if (version <= before) continue;
        expect(version, `${commandId} has a hole after ${before}`).toBe(before + 1);
        seen.set(commandId, { version, state });
      }
      const missing = rows.filter(({ commandId, version, state }) => {
        const last = seen.get(commandId);
        // One that is not over may have gone on meanwhile. Reads that miss it move no version.
        return last === undefined || last.version < version || (last.version === version && last.state !== state);
      });
      expect(missing.slice(0, 5), `${missing.length} commands`).toEqual([]);
    },
    { deadlineMs: 120_000, everyMs: 500 },
  );
}
