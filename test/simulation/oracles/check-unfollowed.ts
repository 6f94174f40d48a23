import { sumOfSeries } from '../../../src/observability/read-metric.ts';
import { happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import { type SimulatedService, unfollowedGraceMs } from '../simulated-service.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { agrees, disagreements } from './check-healed.ts';

/** A list of accounts, the grace, and two looks at the fleet. */
const withinMs = 8_000 + unfollowedGraceMs + 3_000;
/**
 * A fleet that has just healed still balances its shards: the slowest gives one in 5 s, and first
 * waits until a new process has lived for 10 s.
 */
const balancedWithinMs = 180_000;
const againWithinMs = 60_000;
/**
 * Longer than a row waits for Kafka before it is a trouble, and
 * than a trouble lasts before it makes unhealthy.
 */
const kafkaAwayMs = 15_000;

/**
 * Two faults that every process shares, once all is well (in some runs: they take a virtual
 * minute). What ought to be followed and is not is named by every process within its bound; and no
 * process is unhealthy for what all of them suffer.
 */
export async function sharedFaults(world: SimulatedWorld): Promise<string[]> {
  const dice = world.source(15);
  if (!happens(dice, 0.25)) return [];
  const { accounts, venue } = world.platform;
  const { id } = oneOf(dice, accounts);
  const left = venue.listsAccounts ? await unlisted(world, id) : [];
  if (!venue.listsAccounts) await staysPut(world, id);
  return [...left, ...(await withoutKafka(world))];
}

/** The list of accounts says that it is complete, and one is not in it. */
async function unlisted(world: SimulatedWorld, accountId: string): Promise<string[]> {
  const { clock, platform, trace } = world;
  trace.add('platform', 'leaves out of its list', accountId);
  platform.http.unlisted.add(accountId);
  const stayed = await staysPut(world, accountId);
  const trusting = stayed ? running(world).filter((service) => !service.doubts().includes('accounts_unfollowed')) : [];
  platform.http.unlisted.delete(accountId);
  await clock.advanceUntil(() => agrees(world), againWithinMs);
  return [
    ...(stayed ? [] : [`${accountId} goes from process to process though nothing goes wrong`]),
    ...trusting.map(({ host }) => `${host.name} names no doubt, and ${accountId} is followed by no process`),
    ...disagreements(world).map((what) => `not right again after a short list: ${what}`),
  ];
}

/**
 * Each process counts the grace from when it took the account (accounts-follower.ts): the one
 * before leaves nothing of it in the lane's row. So the time is over once the shard has been with
 * one process, under one epoch, for all of it. False: it never was.
 */
async function staysPut(world: SimulatedWorld, accountId: string): Promise<boolean> {
  const { clock, database } = world;
  const hold = () => {
    const row = database.shards.rows[world.assignmentOf(accountId).shard];
    return `${row?.lane} ${row?.epoch}`;
  };
  const untilMs = clock.monotonicMs() + balancedWithinMs;
  let held = hold();
  let sinceMs = clock.monotonicMs();
  while (clock.monotonicMs() - sinceMs < withinMs) {
    if (clock.monotonicMs() >= untilMs) return false;
    await clock.advance(500);
    if (hold() === held) continue;
    held = hold();
    sinceMs = clock.monotonicMs();
  }
  return true;
}

async function withoutKafka(world: SimulatedWorld): Promise<string[]> {
  const { clock, broker, trace } = world;
  trace.add('broker', 'is away', 'for all');
  const before = unhealthyForKafka(world);
  const keptBefore = await keptShards(world);
  broker.down = true;
  await clock.advance(kafkaAwayMs);
  const isKept = (await keptShards(world)) > keptBefore;
  const unhealthy = isKept ? [] : unhealthyForKafka(world).filter((name) => !before.includes(name));
  broker.down = false;
  await clock.advanceUntil(() => agrees(world), againWithinMs);
  return [
    ...unhealthy.map((name) => `${name} is unhealthy (relay_stuck) for a fault that all have`),
    ...disagreements(world).map((what) => `not right again after Kafka was away: ${what}`),
  ];
}

/**
 * Shards that could not be given. A process that tries to gives no report meanwhile, so its last
 * proof that Kafka works stands for 10 s. That is less than a trouble has to last, but here a
 * trouble lasts 2 s (seed 13381).
 */
async function keptShards(world: SimulatedWorld): Promise<number> {
  const kept = world.services.map(({ metrics }) => sumOfSeries(metrics.ingest.shardMoves, { move: 'kept' }));
  return (await Promise.all(kept)).reduce((sum, each) => sum + each, 0);
}

/**
 * By the rows of their lanes. Not the sick ones (fleet-operator.ts): each is unhealthy for its own
 * sockets, whatever Kafka does.
 */
function unhealthyForKafka(world: SimulatedWorld): string[] {
  const rows = [...world.database.lanes.values()];
  const isUnhealthy = (name: string) => {
    const unwell = rows.find(({ holder }) => holder === name)?.introduction.unwell;
    return unwell?.unhealthy === true && unwell.trouble === 'relay_stuck';
  };
  return running(world)
    .map(({ host }) => host.name)
    .filter(isUnhealthy);
}

/**
 * One that has ended says nothing any more, and one without a lane has no
 * look at the fleet: it has another doubt.
 */
function running({ services }: SimulatedWorld): SimulatedService[] {
  return services.filter(({ host, exitCode, stopping, keeper }) => {
    return !host.crashed && exitCode === undefined && !stopping && keeper.state === 'held';
  });
}
