import { Verifier } from '../../../docs/consumers/verify.ts';
import { decodeHead } from '../../../src/domain/head.ts';
import { isTerminal, type Order } from '../../../src/domain/order.ts';
import { traits } from '../../../src/domain/streams.ts';
import type { ExchangeOrder } from '../../../src/sandbox/exchange/exchange-order.ts';
import type { PublishRow } from '../../../src/service/log/publisher.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { TopicName } from '../world/memory-broker.ts';
import type { MemoryPlatform } from '../world/memory-platform.ts';

const most = 5;

/**
 * What must hold once the faults are over and some time has passed (docs/guarantees.md 1, 3, 7, 8,
 * 10, 22): the topics, the log, the state and the platform's truth tell the same story, nothing is
 * pending, every account is live. Returns where they differ, a few sentences a hop.
 */
export function disagreements(world: SimulatedWorld): string[] {
  return [...hops(world)].flatMap((differences) => differences.slice(0, most));
}

/** The same as a question, asked at each step of a clock: it ends at the first difference. */
export function agrees(world: SimulatedWorld): boolean {
  for (const differences of hops(world)) if (differences.length > 0) return false;
  return true;
}

/** The hop that costs least first: that of the records is as long as the run. */
function* hops(world: SimulatedWorld): Generator<string[]> {
  yield notLive(world);
  yield pending(world);
  yield world.watch.missing().map((row) => `in the log, not on its topic: ${row}`);
  yield stillLost(world);
  yield stateAgainstTruth(world);
  yield stateAgainstLog(world);
  yield topicAgainstState(world, 'updates');
  yield topicAgainstState(world, 'state');
  yield unproven(world);
}

/** The venues that are there. */
function venuesOf({ platform, beside }: SimulatedWorld): readonly MemoryPlatform[] {
  return [platform, ...(beside === undefined || beside.isAway ? [] : [beside.platform])];
}

function notLive(world: SimulatedWorld): string[] {
  const { services, database } = world;
  const unassigned = database.shards.rows.filter(
    ({ shard, lane }) => services.filter(({ lease, held }) => lease.lane === lane && held.has(shard)).length !== 1,
  );
  const drained = database.shards.rows.filter(({ lane = -1 }) => database.lanes.get(lane)?.drained === true);
  return [
    ...unassigned.map(
      ({ shard, lane }) =>
        `shard ${shard} has ${lane === undefined ? 'no lane' : `lane ${lane}`}, and no process works on it`,
    ),
    ...services
      .filter(({ sick, held }) => sick && held.size > 0)
      .map(({ host, held }) => `${host.name} still holds the shards ${held.shards}, and is unhealthy`),
    ...drained.map(({ shard, lane }) => `shard ${shard} is still held by lane ${lane}, whose process is drained`),
    ...venuesOf(world).flatMap((platform) => notFollowed(services, platform)),
  ];
}

function notFollowed(services: SimulatedWorld['services'], { accounts, venue }: MemoryPlatform): string[] {
  return accounts.flatMap(({ id, predictions }) => {
    const followers = services.filter(({ held }) => held.follows(id));
    if (followers.length !== 1) return [`${id} is followed by ${followers.length} processes`];
    return followers.flatMap(({ sources }) =>
      sources.status().flatMap(({ stream, accounts: shown, credential }) => {
        if (credential !== venue.loginOf(id)) return [];
        const state = shown.find(({ accountId }) => accountId === id)?.state;
        const wanted = stream === 'prediction' && !predictions ? 'not_enrolled' : 'live';
        return state === wanted ? [] : [`${stream}:${id} is ${state ?? 'not followed'}, not ${wanted}`];
      }),
    );
  });
}

/** An order that the platform does not show, or has forgotten, no read can bring back. */
function stillLost(world: SimulatedWorld): string[] {
  const keys = venuesOf(world).flatMap((platform) => {
    const shown = [...platform.exchange.orders.values()].filter(({ certainty }) => certainty !== 'unknown_store_lost');
    return shown.map((order) => platform.keyOf(order));
  });
  return keys.filter((key) => world.database.damaged.has(key)).map((key) => `the state of ${key} is still lost`);
}

function stateAgainstTruth(world: SimulatedWorld): string[] {
  return venuesOf(world).flatMap((platform) => stateAgainst(platform, world));
}

function stateAgainst(platform: MemoryPlatform, { database, journal }: SimulatedWorld): string[] {
  const wrong: string[] = [];
  for (const truth of platform.exchange.orders.values()) {
    const key = platform.keyOf(truth);
    const row = database.heads.get(key);
    if (row === undefined) {
      wrong.push(`${key} (${truth.state}) was never seen`);
      continue;
    }
    const { order, sourceVersion } = decodeHead(row);
    const expects = platform.venue.expected(truth);
    if (isOutOfReach(order, truth, platform) && order.cumQty === expects['cumQty']) continue;
    // An order that had ended, was corrected, and had filled beyond what was taken back before
    // anybody read it: the join keeps the end that it saw, and says `conflict` for a person to look
    // (docs/merging.md, "Account orders").
    if (platform.corrected.has(truth) && order.conflict !== undefined && order.cumQty === expects['cumQty']) continue;
    for (const [field, value] of Object.entries(expects)) {
      // What says the same at an earlier instant changes nothing.
      if (field === 'updatedAt' && platform.bare.setBack !== undefined) continue;
      const expected = field === 'updatedAt' && platform.bare.coarse ? value?.replace(/\.\d+Z$/, 'Z') : value;
      const found = shown(order, field);
      if (found !== expected)
        wrong.push(`${key} revision ${row.revision}: ${field} is ${found}, the platform has ${expected}`);
    }
    if (platform.reused.has(key)) wrong.push(...ofAnother(order, truth, journal));
    const legs = platform.bare.legsOf(truth);
    if (legs !== undefined && sorted(order.instrument.legs ?? []) !== sorted(legs))
      wrong.push(
        `${key} revision ${row.revision}: legs are ${sorted(order.instrument.legs ?? [])}, not ${sorted(legs)}`,
      );
    if (truth.terms.stream === 'prediction' && !sameVersion(truth, sourceVersion, platform.storesLost)) {
      wrong.push(`${key}: version ${sourceVersion}, the platform has ${truth.version}`);
    }
  }
  return wrong;
}

/**
 * By creation, a list shows no order that was made and had ended before the run. Its trades are
 * activities; an end that is taken back for another one is none.
 */
function isOutOfReach({ stream, status }: Order, truth: ExchangeOrder, platform: MemoryPlatform): boolean {
  const isOld = truth.createdAt < platform.beganAtUs && isTerminal(status);
  return isOld && traits[stream].lists === 'by_creation' && platform.surprises.endsTakenBack.has(truth);
}

/** The id was given again: we show the order that has it now, and its owner. */
function ofAnother(order: Order, { terms }: ExchangeOrder, journal: SimulatedWorld['journal']): string[] {
  const reference = terms.stream === 'account' ? terms.clOrdId : terms.clientOrderRef;
  const shown = order.stream === 'prediction' ? order.clientOrderRef : order.clOrdId;
  const owner = journal.ofAttempts([reference ?? '']).get(reference ?? '')?.commandId;
  // A view that leaves its reference out may be the newest one.
  if ((shown ?? reference) === reference && order.commandId === owner) return [];
  return [`${order.orderId} is shown as ${shown} of ${order.commandId}, and is ${reference} of ${owner}`];
}

/**
 * Closed orders of a lost store start again at 1 without an event: nothing about them changed but
 * their number, and nobody need have read it.
 */
function sameVersion(truth: ExchangeOrder, version: bigint | undefined, storesLost: ReadonlySet<string>): boolean {
  return version === truth.version || (truth.version === 1n && storesLost.has(truth.terms.account.id));
}

/** In one order, and compact: within a coarse instant no order or spelling is the newest. */
function sorted(legs: readonly { readonly symbol: string; readonly side: string }[]): string {
  const spelt = legs.map(({ symbol, side }) => `${symbol.replaceAll(' ', '')} ${side.toLowerCase()}`);
  return spelt.sort().join(', ');
}

function shown(order: Order, field: string): string | undefined {
  if (field === 'symbol') return order.instrument.symbol;
  if (field === 'workingQuantity') return order.working.quantity;
  if (field === 'workingPrice') return order.working.price;
  return (order[field as keyof Order] ?? order.extra?.[field]) as string | undefined;
}

function stateAgainstLog({ database }: SimulatedWorld): string[] {
  const newest = new Map(database.log.filter(({ topic }) => topic === 'updates').map((row) => [row.key, row]));
  const wrong: string[] = [];
  for (const [key, head] of database.heads) {
    const row = newest.get(key);
    if (row === undefined || row.revision !== head.revision || !row.payload.endsWith(`,"order":${head.state}}`)) {
      wrong.push(`the log's newest of ${key} (revision ${row?.revision}) is not the state (revision ${head.revision})`);
    }
  }
  for (const key of newest.keys()) if (!database.heads.has(key)) wrong.push(`${key} is in the log, but has no state`);
  return wrong;
}

/**
 * The updates folded as a reader does, by the highest revision; the state topic as compaction
 * leaves it, by the last record.
 */
function topicAgainstState(
  { database, broker, watch }: SimulatedWorld,
  topic: Exclude<TopicName, 'watermarks' | 'results'>,
): string[] {
  const newest = new Map<string, { generation: number; revision: number; payload: string }>();
  for (const { key, payload } of broker.records[topic]) {
    const { generation, revision } = JSON.parse(payload) as { generation: number; revision: number };
    const last = newest.get(key);
    const isNewer =
      last === undefined ||
      generation > last.generation ||
      (generation === last.generation && revision >= last.revision);
    if (topic === 'state' || isNewer) newest.set(key, { generation, revision, payload });
  }
  const passedOver = new Set<string>();
  for (const row of database.log)
    if (database.passedOver.has(row.payload)) passedOver.add(`${row.key} ${row.revision}`);
  const wrong: string[] = [];
  for (const [key, head] of database.heads) {
    const found = newest.get(key);
    // Lost, and nothing of the order has changed since: `tidemark verify --repair` finds it.
    if (found !== undefined && watch.wasLost(found.payload)) continue;
    if (topic === 'state' && passedOver.has(`${key} ${head.revision}`)) continue;
    if (found?.payload.endsWith(`,"order":${head.state}}`) !== true || found.revision !== head.revision) {
      wrong.push(`${topic} topic: ${key} is at revision ${found?.revision}, the state at ${head.revision}`);
    }
  }
  return wrong;
}

/**
 * By the verifier that consumers use. A generation begins with commits that the database lost: how
 * the one before ended, only the records say. A process that was started since, and can't ask
 * Kafka, gives the numbers of lost batches again in the same generation (docs/guarantees.md 23):
 * consumers see a hole then, and rightly, but what the database still has must prove itself.
 */
function unproven({ broker, watch }: SimulatedWorld): string[] {
  const { updates, watermarks } = broker.records;
  const holes = holesIn(updates, watermarks);
  const isKept = ({ payload }: PublishRow) => !watch.wasLost(payload);
  return holes.length === 0 ? [] : holesIn(updates.filter(isKept), watermarks.filter(isKept));
}

function holesIn(updates: readonly PublishRow[], marks: readonly PublishRow[]): string[] {
  const verifier = new Verifier();
  for (const { payload } of updates) verifier.update(payload);
  return marks
    .flatMap(({ payload }) => verifier.mark(payload))
    .filter((hole) => !hole.includes('begins, and no proof'));
}

function pending({ database }: SimulatedWorld): string[] {
  return [...database.lanes.keys()].flatMap((lane) => {
    const last = database.log.findLast((row) => row.lane === lane && row.topic === 'updates')?.seq ?? 0n;
    return (['log', 'state'] as const).flatMap((cursor) => {
      const at = database.positionOf(lane, cursor);
      return at < last ? [`the ${cursor} cursor of lane ${lane} is at ${at}, its last update at ${last}`] : [];
    });
  });
}
