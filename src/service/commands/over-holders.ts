import { type Answer, anotherLeads, type Declined, type Done } from './answer.ts';
import type { CancelAll, ReconcileReport, TimersSet } from './commands.ts';

// One request for several holders' accounts: shards in this process, or other processes. All
// answers are made one.

interface CancelAllBody {
  readonly open: boolean;
  readonly inForce: boolean;
  readonly orders: readonly { readonly stream: string; readonly orderId: string }[];
  readonly places: readonly { readonly commandId: string }[];
  readonly unread: readonly { readonly accountId: string; readonly stream: string }[];
  readonly declined: readonly { readonly accountId: string; readonly code: string }[];
}

interface HolderAnswer<Body> {
  /** The accounts it was asked for; left out: all. */
  readonly accountIds?: readonly string[];
  /** Its `open` does not count accounts that other holders have. */
  readonly body: Body;
}

/**
 * Each order, place and account once: a holder with the key shows the others' record, too.
 * `openHere`: the same as `open` without accounts no holder here has.
 */
export function mergeCancelAlls<Body extends CancelAllBody>(
  answers: readonly HolderAnswer<Body>[],
  isUnderWay: (order: Body['orders'][number]) => boolean,
) {
  const bodies = answers.map(({ body }) => body);
  const sets = answers.map(({ accountIds, body }) => ({
    asked: accountIds && new Set(accountIds),
    leftOut: new Set(body.declined.filter(isLeftOut).map(({ accountId }) => accountId)),
  }));
  // If one holder took an account, the others need say nothing.
  const isTaken = (accountId: string) =>
    sets.some(({ asked, leftOut }) => asked?.has(accountId) !== false && !leftOut.has(accountId));
  const declined = firstOf(
    bodies.flatMap((body): Body['declined'][number][] => [...body.declined]),
    ({ accountId, code }) => `${accountId} ${code}`,
  ).filter((each) => !isLeftOut(each) || !isTaken(each.accountId));
  const openHere = bodies.some(({ open }) => open);
  return {
    open: openHere || declined.some(isLeftOut),
    openHere,
    inForce: bodies.some(({ inForce }) => inForce),
    orders: firstOf(
      bodies.flatMap((body): Body['orders'][number][] => [...body.orders]),
      ({ stream, orderId }) => `${stream} ${orderId}`,
      // A known outcome goes before the same one under way.
      (order) => !isUnderWay(order),
    ),
    places: firstOf(
      bodies.flatMap((body): Body['places'][number][] => [...body.places]),
      ({ commandId }) => commandId,
    ),
    unread: firstOf(
      bodies.flatMap((body): Body['unread'][number][] => [...body.unread]),
      ({ accountId, stream }) => `${stream} ${accountId}`,
    ),
    declined,
  };
}

/** Another holder has the account, or soon will. */
function isLeftOut({ code }: { readonly code: string }): boolean {
  return code === 'NOT_LEADER' || code === 'DRAINING';
}

/** For each key the first `better` one, or the first. */
function firstOf<T>(all: readonly T[], keyOf: (each: T) => string, better: (each: T) => boolean = () => true): T[] {
  return [...Map.groupBy(all, keyOf).values()].flatMap((alike) => alike.find(better) ?? alike.slice(0, 1));
}

export function mergeReports(reports: readonly ReconcileReport[]) {
  return {
    unresolved: reports.reduce((sum, { unresolved }) => sum + unresolved, 0),
    probes: reports.reduce((sum, { probes }) => sum + probes, 0),
    settled: reports.flatMap(({ settled }) => [...settled]),
    plan: reports.flatMap(({ plan }) => plan.map((each) => ({ ...each, commands: [...each.commands] }))),
  };
}

/** One shard's answer in this process, for its accounts among those asked for. */
interface ShardAnswer<Result> {
  readonly accountIds: readonly string[];
  readonly result: Result;
}

/** The accounts of a shard that declined are named as declined. */
export function cancelAllOfShards(answers: readonly ShardAnswer<Answer<CancelAll>>[]): Answer<CancelAll> {
  const refusal = refusalOf(answers);
  if (refusal !== undefined) return refusal;
  const bodies = answers.map(({ accountIds, result }) => {
    const body = result.kind === 'done' ? result : { ...nothing, ...declinedFor(accountIds, result) };
    return { accountIds, body };
  });
  const merged = mergeCancelAlls(bodies, ({ result }) => result === undefined);
  return { kind: 'done', replayed: bodies.every(({ body }) => body.replayed), ...merged };
}

const nothing = { replayed: true, inForce: false, orders: [], places: [], unread: [] };

function declinedFor(accountIds: readonly string[], { kind: _kind, ...why }: Declined) {
  return { open: !isLeftOut(why), declined: accountIds.map((accountId) => ({ accountId, ...why })) };
}

export function cancelAfterOfShards(answers: readonly ShardAnswer<Answer<TimersSet>>[]): Answer<TimersSet> {
  const refusal = refusalOf(answers);
  if (refusal !== undefined) return refusal;
  const done = answers.flatMap(({ result }) => (result.kind === 'done' ? [result] : []));
  // Each shard has set its timers by an answer of its own: the first that runs out counts.
  const fireMs = done.flatMap(({ firesAtMs }) => firesAtMs ?? []);
  return {
    kind: 'done',
    accountIds: done.flatMap(({ accountIds }) => accountIds),
    declined: answers.flatMap(({ accountIds, result }) =>
      result.kind === 'done' ? result.declined : declinedFor(accountIds, result).declined,
    ),
    ...(fireMs.length > 0 && { firesAtMs: Math.min(...fireMs) }),
  };
}

/**
 * Undefined: one has done its part. A reason about the request goes before `NOT_LEADER`: another
 * process would not repeat it.
 */
function refusalOf(answers: readonly ShardAnswer<Answer<Done>>[]): Declined | undefined {
  const refusals = answers.flatMap(({ result }) => (result.kind === 'declined' ? [result] : []));
  if (refusals.length < answers.length) return undefined;
  return refusals.find((each) => !isLeftOut(each)) ?? refusals[0] ?? anotherLeads;
}
