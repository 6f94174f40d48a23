import { happens, oneOf } from '../../src/sandbox/market/instruments.ts';
import { disagreements } from './check-healed.ts';
import { unfollowedGraceMs } from './simulated-service.ts';
import type { SimulatedWorld } from './simulated-world.ts';

/** A list of accounts, the grace, and two looks at the fleet. */
const withinMs = 8_000 + unfollowedGraceMs + 3_000;
const againWithinMs = 60_000;
/** Longer than a row waits for Kafka before it is a trouble, and than a trouble lasts before it makes unfit. */
const kafkaAwayMs = 15_000;

/**
 * Two faults that every process shares, once all is well (in some runs: they take a virtual minute). What ought to be followed and is not is named by every process
 * within its bound; and no process is unfit for what all of them suffer.
 */
export async function sharedFaults(world: SimulatedWorld): Promise<string[]> {
  const dice = world.source(15);
  if (!happens(dice, 0.25)) return [];
  return [...(await unlisted(world, oneOf(dice, world.platform.accounts).id)), ...(await withoutKafka(world))];
}

/** The list of accounts says that it is complete, and one is not in it. */
async function unlisted(world: SimulatedWorld, accountId: string): Promise<string[]> {
  const { clock, platform, trace } = world;
  trace.add('platform', 'leaves out of its list', accountId);
  platform.http.unlisted.add(accountId);
  await clock.advance(withinMs);
  const trusting = world.services.filter((service) => !service.doubts().includes('accounts_unfollowed'));
  platform.http.unlisted.delete(accountId);
  await clock.advanceUntil(() => isAllRight(world), againWithinMs);
  return [
    ...trusting.map(({ host }) => `${host.name} names no doubt, and ${accountId} is followed by no process`),
    ...disagreements(world).map((what) => `not right again after a short list: ${what}`),
  ];
}

async function withoutKafka(world: SimulatedWorld): Promise<string[]> {
  const { clock, broker, database, trace } = world;
  trace.add('broker', 'is away', 'for all');
  broker.down = true;
  await clock.advance(kafkaAwayMs);
  const unfit = [...database.lanes.values()].filter(({ card }) => card.unwell?.unfit === true);
  broker.down = false;
  await clock.advanceUntil(() => isAllRight(world), againWithinMs);
  return [
    ...unfit.map(({ holder, card }) => `${holder} is unfit (${card.unwell?.trouble}) for a fault that all have`),
    ...disagreements(world).map((what) => `not right again after Kafka was away: ${what}`),
  ];
}

function isAllRight(world: SimulatedWorld): boolean {
  return disagreements(world).length === 0;
}
