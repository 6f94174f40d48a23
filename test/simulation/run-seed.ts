import type { Logger } from '../../src/observability/logger.ts';
import { happens, oneOf } from '../../src/sandbox/market/instruments.ts';
import { silentLog } from '../support/runs/silent-log.ts';
import { StandstillError } from '../support/runs/virtual-clock.ts';
import { noDatabaseFaults } from './database-rows.ts';
import { unresolved } from './oracles/check-commands.ts';
import { checkCounts, checkFrames } from './oracles/check-counts.ts';
import { agrees, disagreements } from './oracles/check-healed.ts';
import { sharedFaults } from './oracles/check-unfollowed.ts';
import { staleReads } from './oracles/stale-reads.ts';
import { OwnersCancels } from './owners-cancels.ts';
import { AppUsers } from './plan/app-users.ts';
import type { CommandWishes } from './plan/command-plan.ts';
import type { CrashPoint } from './plan/crash-points.ts';
import { noEnemy } from './plan/enemy.ts';
import { HaltRounds } from './plan/halt-rounds.ts';
import { IdReuse } from './plan/id-reuse.ts';
import { happen } from './plan/incident.ts';
import { repeatFirsts } from './plan/repeated-firsts.ts';
import { noReadFaults } from './plan/stream-faults.ts';
import type { PlantedBug } from './planted/planted-bug.ts';
import { SimulatedWorld } from './simulated-world.ts';
import { noBrokerFaults } from './world/memory-broker.ts';

interface RunOptions {
  readonly print?: (line: string) => void;
  readonly log?: Logger;
  readonly bug?: PlantedBug;
  readonly wishes?: CommandWishes;
}

export interface RunResult {
  readonly seed: number;
  /** What did not hold; empty for a good run. */
  readonly failures: readonly string[];
  /** Digest of everything that happened. */
  readonly digest: string;
  readonly virtualMs: number;
  /** How much of it there was, so that a run which tests nothing is seen. */
  readonly events: number;
  readonly updates: number;
  readonly commits: number;
  readonly processes: number;
  /** How many epochs of the lane there were: it was taken, or reclaimed. */
  readonly terms: number;
  /** Commands, and writes that left for the platform. */
  readonly commands: number;
  readonly writes: number;
  /** The planned crash took place. */
  readonly crashedAtPoint: boolean;
  /** How often each point of a crash was reached. */
  readonly reached: ReadonlyMap<CrashPoint, number>;
}

/**
 * How long the service may take to be right again once nothing goes wrong any more: a lease, a
 * reconnect, and two audits with all their corrections.
 */
const healWithinMs = 180_000;
/** What breaks while faults are on is told apart from what breaks later. */
const quietMs = 3_000;
/**
 * How far a standby may be behind. Once a run: what is lost is found by what was seen or published
 * since, and by nothing where a second loss takes that away too.
 */
const mostLostMs = 1_000;
const damagesInRun = 6;

/**
 * One run from its seed: faults, healing, checks, a clean end. Never rejects for what the service
 * did wrong: that is in `failures`.
 */
export async function runSeed(seed: number, options: RunOptions = {}): Promise<RunResult> {
  const { log = silentLog, print, bug, wishes } = options;
  const unplant = bug?.plant?.();
  try {
    const world = new SimulatedWorld({
      seed,
      log,
      ...(print && { print }),
      ...(bug && { bug }),
      ...(wishes && { wishes }),
    });
    const failures = await live(world, wishes).catch(standstill);
    return {
      seed,
      failures,
      digest: world.trace.digest(),
      virtualMs: Math.round(world.clock.atMs),
      events: world.trace.lines,
      updates: world.database.log.length,
      commits: world.commits,
      processes: world.processes,
      terms: world.database.renewals.size,
      commands: world.journal.commands.size,
      writes: world.platform.ledger.writes.length,
      crashedAtPoint: world.points.happened,
      reached: world.points.reached,
    };
  } finally {
    unplant?.();
  }
}

/** A loop that waits for nothing ends the run: the clock moves no more. */
function standstill(error: unknown): string[] {
  if (error instanceof StandstillError) return [error.message];
  throw error;
}

async function live(world: SimulatedWorld, wishes: CommandWishes | undefined): Promise<string[]> {
  const { clock, plan, random, platform, trace } = world;
  for (const slot of world.slots.keys()) clock.after(random.next() * 500, () => world.startIn(slot));
  world.spoil();
  let faulty = true;
  const change = () => {
    platform.step();
    world.pastBreaches.push(...staleReads(world));
    if (faulty) clock.after(random.next() * plan.changeEveryMs * 2, change);
  };
  const trouble = () => {
    if (!faulty) return;
    if (plan.incidents.length > 0) happen(oneOf(random, plan.incidents), world);
    clock.after(random.next() * plan.incidentEveryMs * 2, trouble);
  };
  const surprising = world.source(21);
  const surprise = () => {
    if (faulty) platform.surprises.act();
    if (faulty) clock.after(surprising.next() * plan.changeEveryMs * 8, surprise);
  };
  if (wishes?.odd === true) clock.after(0, surprise);
  const { commandPlan } = world;
  const dice = world.source(9);
  const action = () => {
    if (!faulty || commandPlan === undefined) return;
    world.callers.act();
    if (happens(dice, 0.3)) platform.entered.step();
    clock.after(dice.next() * commandPlan.everyMs * 2, action);
  };
  const moves = world.source(14);
  const wish = (everyMs: number) => {
    if (faulty) world.operator.act();
    if (faulty) clock.after(moves.next() * everyMs * 2, () => wish(everyMs));
  };
  if (plan.operatorEveryMs !== undefined) wish(plan.operatorEveryMs);
  if (wishes?.leaking === true) new HaltRounds(world, world.source(17)).begin(() => faulty);
  if (wishes?.contesting === true) new OwnersCancels(world, world.source(18)).begin(() => faulty);
  if (wishes?.reusing === true) new IdReuse(world, world.source(24)).begin(() => faulty);
  repeatFirsts(world, world.source(25), () => faulty);
  const people = world.source(26);
  if (platform.venue.name === 'alpaca' && happens(people, 0.5))
    new AppUsers(world, people).begin(() => faulty, plan.changeEveryMs * 6);
  const busts = world.source(28);
  const bust = () => {
    if (faulty) platform.correctUnseen(busts);
    if (faulty) clock.after(busts.next() * plan.faultyMs, bust);
  };
  if (platform.venue.name === 'alpaca' && happens(busts, 0.3)) clock.after(busts.next() * plan.faultyMs, bust);
  const others = world.source(29);
  if (platform.venue.name === 'alpaca' && happens(others, 0.3)) platform.limit.begin(others);
  world.beside?.begin(() => faulty);
  world.links?.begin(() => faulty, plan.changeEveryMs * 20);
  clock.after(0, change);
  clock.after(dice.next() * 1_000, action);
  clock.after(random.next() * plan.incidentEveryMs, trouble);
  const losing = world.source(12);
  const hidden = world.source(15);
  if (wishes?.hiding === true) {
    world.database.spreadsEpochs = true;
    clock.after(plan.faultyMs * (0.2 + hidden.next() * 0.3), () => world.loseUnseenCommits());
  } else if (wishes?.stranding === true) {
    world.database.spreadsEpochs = true;
    clock.after(plan.faultyMs * (0.1 + hidden.next() * 0.2), () => world.strandCommits(hidden, plan.faultyMs * 0.5));
  } else if (
    wishes?.losing === true ||
    wishes?.forgetting === true ||
    (commandPlan === undefined && happens(losing, 0.5))
  ) {
    world.database.spreadsEpochs = true;
    const atMs = plan.faultyMs * (0.1 + losing.next() * 0.7);
    clock.after(atMs, () => world.loseCommits(losing.next() * mostLostMs));
    // Now and then, and just before the loss: what was answered by then is lost.
    const stops = wishes?.forgetting === true ? 3 : 0;
    for (const share of [0.2, 0.5].slice(0, stops)) clock.after(atMs * share, () => world.stopSomething());
    for (let i = 1; i <= stops; i += 1) clock.after(atMs + (mostLostMs * i) / 10, () => world.stopSomething());
  }
  const damage = world.source(24);
  for (let i = 0; wishes?.damaging === true && i < damagesInRun; i += 1)
    clock.after(plan.faultyMs * damage.next(), () => world.damageSomething(damage));
  await clock.advance(plan.faultyMs);
  faulty = false;
  trace.add('world', 'heals');
  heal(world);
  await clock.advance(quietMs);
  await bePatient(world);
  const left = await untilAgreed(world);
  if (left.length > 0) return [...world.breaches(), ...left.map((what) => `not healed: ${what}`)];
  const shared = await sharedFaults(world);
  if (shared.length > 0) return [...world.breaches(), ...shared];
  return end(world);
}

/** Long enough for what never arrived to be presumed absent. Callers go on now and then. */
async function bePatient(world: SimulatedWorld): Promise<void> {
  const { clock, commandPlan, callers, platform } = world;
  const untilMs = clock.monotonicMs() + (commandPlan?.patienceMs ?? 0);
  if (commandPlan?.blind === true) platform.http.faults = { ...noReadFaults, broken: 0.95 };
  while (clock.monotonicMs() < untilMs && world.breaches().length === 0) {
    await clock.advance(30_000);
    callers.act();
    platform.entered.step();
  }
  platform.http.faults = noReadFaults;
}

function heal(world: SimulatedWorld): void {
  const { platform, database, broker, random, clock } = world;
  platform.heal();
  world.beside?.heal();
  world.links?.heal();
  database.faults = noDatabaseFaults;
  database.down = false;
  broker.faults = noBrokerFaults;
  world.enemy = noEnemy;
  world.operator.keep(world.slots[0]);
  broker.down = false;
  for (const service of world.services) service.host.thaw(random);
  for (let i = 0; i < 5; i += 1) clock.after(random.next() * quietMs, () => platform.step());
}

/**
 * A second at a time. The platform calls itself certain again once the service has seen what it
 * says of each lost store.
 */
async function untilAgreed(world: SimulatedWorld): Promise<string[]> {
  const { clock, platform } = world;
  // A command is older by that for a process that takes it over, and a tenth of its age passes
  // between two probes (seed 2442).
  const probeMs = world.clocksApartMs / 10;
  const deadlineMs = clock.monotonicMs() + healWithinMs + probeMs;
  for (;;) {
    for (const [slot, service] of world.slots.entries()) {
      if (service?.exitCode !== undefined) world.leave(slot);
      world.startIn(slot);
    }
    const others = [...checkCounts(world), ...unresolved(world), ...world.forgottenHalts()];
    const agreed = others.length === 0 && agrees(world);
    if (agreed && world.beside?.isAway === true) {
      world.beside.comeBack();
      continue;
    }
    if (platform.lostOrders().length > 0 && agreed) {
      platform.restoreCertainty();
      continue;
    }
    if (agreed) return [];
    if (clock.monotonicMs() >= deadlineMs || world.breaches().length > 0) return [...disagreements(world), ...others];
    world.repairStates();
    await clock.advance(1_000);
  }
}

/** Every process stops cleanly: nothing of it is left, and what it committed is published. */
async function end(world: SimulatedWorld): Promise<string[]> {
  const { clock, services } = world;
  world.end();
  for (const service of services) service.stop();
  await clock.advanceUntil(() => services.every(({ exitCode }) => exitCode !== undefined), 30_000);
  await clock.advance(5_000);
  return [
    ...services.flatMap(({ host, exitCode }) => {
      const about: string[] = [];
      if (exitCode !== 0) about.push(`${host.name} ends with ${exitCode}`);
      if (host.armed > 0) about.push(`${host.name} leaves ${host.armed} timers behind`);
      if (host.waiting > 0) about.push(`${host.name} leaves ${host.waiting} calls behind`);
      return about;
    }),
    ...world.platforms.flatMap(({ stream: { connections } }) =>
      connections > 0 ? [`${connections} connections are left open`] : [],
    ),
    ...world.callers.unanswered(),
    ...world.watch.missing().map((row) => `stopped cleanly without publishing ${row}`),
    ...(await checkFrames(world)),
    ...world.breaches(),
  ];
}
