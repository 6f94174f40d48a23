import {
  aboveBaseline,
  endedFirst,
  endedUnseen,
  flaggedBy,
  isConfirmed,
  nextUnderId,
  recordedReason,
} from './above-baseline.ts';
import {
  type AccountPlaceTerms,
  type Attempt,
  type Command,
  isFinal,
  isOfSecurities,
  madeOrder,
  type PredictionPlaceTerms,
} from './command.ts';
import { compareInstants } from './instant.ts';
import { isTerminal, isTold, type Order, orderWord } from './order.ts';
import {
  type BoundOrder,
  type Fact,
  type Finding,
  nothing,
  type Resolving,
  type ResolvingUpdate,
  type Verdict,
} from './resolving.ts';
import { traits } from './streams.ts';
import { compareText, directionOf } from './view-content.ts';

/**
 * A place (docs/commands.md, "How unknown is resolved"). An order with one of its attempt ids, and
 * with our account and side, is its order, even with another symbol, price or quantity. Never bound
 * by terms alone, and absence proves nothing: another client may have placed the same order, and
 * lists are late.
 *
 * The order ends the doubt, and the venue resolves the place: `applied` once it has taken the
 * order, `rejected` when it refused it without a fill, `accepted` until then.
 *
 * Also for commands already resolved: an order that should not be there is a finding, and so is a
 * second one. A further order whose elder ended `replaced` is its successor, and belongs to the
 * command.
 */
export function resolvePlace({ command, updates, bound = [] }: Resolving): Finding {
  if (command.state === 'conflict') return nothing;
  const ours = bound
    .filter(({ commandId }) => commandId === command.commandId)
    .sort((a, b) => compareText(a.orderId, b.orderId));
  const matching = ours.filter(({ matches }) => matches);
  const made = madeOrder(command);
  if (made !== undefined) return ofItsOrder(command, made, matching, updates);
  const isLeft = (each: BoundOrder) => !isDenied(command, each) && !wasReplaced(each.orderId, command, updates);
  const landed = matching.find(isLeft) ?? matching.find((each) => !isDenied(command, each)) ?? matching[0];
  if (landed !== undefined) return firstSeenAs(command, landed, updates);
  const foreign = ours[0];
  if (foreign === undefined || isFinal(command.state)) return nothing;
  const message = `order ${foreign.orderId} carries our reference, but another account or side`;
  return {
    kind: 'verdict',
    result: 'conflict',
    event: 'verdict_conflict',
    because: 'other_identity',
    orderId: foreign.orderId,
    reason: { code: 'OTHER_IDENTITY', message },
    evidence: fact('other_identity', command, foreign, undefined),
  };
}

/**
 * A replace with a new order (docs/commands.md, "How unknown is resolved"). The new order has a
 * reference of ours, so it resolves the command like a place: `applied` once the venue has taken
 * it, `rejected` if it is refused.
 *
 * Until then only the old order's end gives reason to look: if the look finds none, the doubt is
 * over. A pending replace went away without an order: it was another request's, and this one may
 * still come. While the command is open its write may still leave, and a look proves nothing.
 */
export function resolveSuccessor(resolving: Resolving): Finding {
  const { command, updates, successor } = resolving;
  const { request, baseline, state, attempts } = command;
  if (request.kind !== 'replace' || baseline === undefined) return nothing;
  const byReference = resolvePlace(resolving);
  if (byReference.kind !== 'nothing' || (resolving.bound ?? []).length > 0) return byReference;
  if (isFinal(state) || state === 'conflict' || state === 'open') return nothing;
  const named = updates.filter(({ order }) => order.orderId === request.orderId);
  const next = nextUnderId(baseline, named);
  if (next !== undefined) return endedUnseen(next);
  for (const update of aboveBaseline(baseline, named)) {
    const { order } = update;
    if (update.sourceEpoch !== baseline.sourceEpoch) return flaggedBy(update);
    if (!isConfirmed(order) || !isTerminal(order.status)) continue;
    const reference = attempts.at(-1)?.attemptId;
    if (successor === undefined) return { kind: 'look_for_successor', orderId: request.orderId, reference };
    if (successor.orderId !== undefined) return nothing;
    return endedFirst(update);
  }
  return nothing;
}

/** An order of ours that was not bound before. */
function firstSeenAs(command: Command, landed: BoundOrder, updates: readonly ResolvingUpdate[]): Finding {
  const views = updatesOf(landed.orderId, command, updates);
  const decision = venueDecision(views.map(({ order }) => order));
  // A rejected place's order shows up as rejected, as the platform answered. After a person's
  // decision alone, an undecided order is a finding: the person has not seen it.
  if (
    command.state === 'rejected' &&
    (decision === 'bound_rejected' || (decision === 'bound_undecided' && isRejected(command, landed)))
  )
    return nothing;
  const newest = views.at(-1);
  const differs = newest === undefined ? [] : differingTerms(command, newest.order);
  const verdict = landedAs(command, landed, decision, views);
  return {
    ...verdict,
    ...(isDenied(command, landed) && { event: `${decision}_denied` as const }),
    ...(differs.length > 0 && {
      differs,
      evidence: { ...verdict.evidence, detail: { ...verdict.evidence.detail, differs } },
    }),
  };
}

/**
 * The bound order: the venue's decision is a finding once, and a second order as long as it is
 * there. Only a working order contradicts a person's decision.
 */
function ofItsOrder(
  command: Command,
  orderId: string,
  matching: readonly BoundOrder[],
  updates: readonly ResolvingUpdate[],
): Finding {
  const own = matching.find((each) => each.orderId === orderId);
  const views = updatesOf(orderId, command, updates);
  const decision = venueDecision(views.map(({ order }) => order));
  const isNews = isFinal(command.state)
    ? decision === 'bound' && command.state !== 'applied'
    : decision !== 'bound_undecided';
  if (own !== undefined && isNews) return landedAs(command, own, decision, views);
  const left = matching.filter((each) => !wasReplaced(each.orderId, command, updates));
  const second = left.find((each) => each.orderId !== orderId);
  if (second === undefined) return nothing;
  const code = left.length > 1 ? 'second_order' : 'successor';
  const detail = { orderId: second.orderId, appliedAs: orderId };
  return {
    kind: code,
    orderId: second.orderId,
    evidence: { kind: 'update', code, attemptId: second.attemptId, detail },
  };
}

/** Amended by its owner or the venue: the platform made another order in its place. */
function wasReplaced(orderId: string, command: Command, updates: readonly ResolvingUpdate[]): boolean {
  return updatesOf(orderId, command, updates).at(-1)?.order.status === 'replaced';
}

type VenueDecision = 'bound' | 'bound_undecided' | 'bound_rejected';

const results = {
  bound: 'applied',
  bound_undecided: 'accepted',
  bound_rejected: 'rejected',
} as const satisfies Record<VenueDecision, Verdict['result']>;

function landedAs(
  command: Command,
  { orderId, ...bound }: BoundOrder,
  decision: VenueDecision,
  views: readonly ResolvingUpdate[],
): Verdict {
  const shows = views.findLast(({ order }) => venueDecision([order]) === decision);
  const because = decision === 'bound_rejected' ? 'venue_refused' : 'landed';
  return {
    kind: 'verdict',
    result: results[decision],
    event: decision,
    because,
    orderId,
    ...(decision === 'bound_rejected' && shows !== undefined && { reason: recordedReason(shows.order, 'order') }),
    evidence: fact(because, command, { orderId, ...bound }, shows),
  };
}

/**
 * The venue's decision on an order, from all its views. An order taken once stays taken, even if
 * later views say otherwise; a fill is proof by itself. A status counts only if the platform is
 * certain about it.
 */
export function venueDecision(views: readonly VenueView[]): VenueDecision {
  if (views.some(isTaken)) return 'bound';
  return views.some(({ status, certainty }) => status === 'rejected' && certainty === 'certain')
    ? 'bound_rejected'
    : 'bound_undecided';
}

type VenueView = Pick<Order, 'stream' | 'status' | 'certainty' | 'cumQty' | 'pendingAction'>;

/**
 * An account order has one word for its status and for what is pending. With something pending, and
 * without a fill, that word does not say whether the venue had taken it.
 */
function isTaken({ stream, status, certainty, cumQty, pendingAction }: VenueView): boolean {
  if (cumQty !== '0') return true;
  const isHidden = traits[stream].pendingHidesStatus && (pendingAction ?? 'none') !== 'none';
  if (isHidden && status === 'new') return false;
  return certainty === 'certain' && status !== 'unknown' && status !== 'pending_new' && status !== 'rejected';
}

/** The platform's documented word about this very attempt was that nothing was done. */
function isDenied(command: Command, bound: BoundOrder): boolean {
  const state = attemptOf(command, bound)?.state;
  return state === 'not_sent' || state === 'refused';
}

/** The platform answered that very attempt as rejected. */
function isRejected(command: Command, bound: BoundOrder): boolean {
  return attemptOf(command, bound)?.state === 'rejected';
}

function attemptOf({ attempts }: Command, { attemptId }: BoundOrder): Attempt | undefined {
  return attempts.find((attempt) => attempt.attemptId === attemptId);
}

/**
 * Each once, oldest first: arrival order and repeats have no effect. The platform may give the id
 * again: of all orders under it the command's is the one that was bound to it.
 */
function updatesOf(orderId: string, { commandId }: Command, updates: readonly ResolvingUpdate[]): ResolvingUpdate[] {
  const underId = updates.filter(({ order }) => order.orderId === orderId);
  const own = underId.find(({ order }) => order.commandId === commandId)?.order.incarnation;
  const byRevision = new Map(
    underId.filter(({ order }) => order.incarnation === own).map((update) => [update.revision, update]),
  );
  return [...byRevision.values()].sort((a, b) => a.revision - b.revision);
}

/**
 * The terms that differ between order and request, by name, over the terms both have. Words are
 * compared in lower case, as orders have them.
 */
function differingTerms({ request }: Command, order: Order): string[] {
  if (request.kind !== 'place') return [];
  const pairs = isOfSecurities(request) ? accountPairs(request.terms, order) : predictionPairs(request.terms, order);
  return pairs
    .filter(([, asked, has]) => asked !== undefined && has !== undefined && asked !== has)
    .map(([name]) => name);
}

type Pair = readonly [name: string, asked: string | undefined, has: string | undefined];

function accountPairs(terms: AccountPlaceTerms, order: Order): Pair[] {
  return [
    ['symbol', terms.symbol, order.instrument.symbol],
    ['side', orderWord(terms.side), toldWord(order.side)],
    ['quantity', terms.qty, order.quantity],
    ['orderType', orderWord(terms.type), toldWord(order.orderType)],
    ['timeInForce', orderWord(terms.timeInForce), toldWord(order.timeInForce)],
    ['price', terms.price, order.price],
    ['stopPrice', terms.stopPrice, order.stopPrice],
    ['legs', legsText(terms.legs), legsText(order.instrument.legs)],
  ];
}

function toldWord(word: string): string | undefined {
  return isTold(word) ? word : undefined;
}

function predictionPairs(terms: PredictionPlaceTerms, order: Order): Pair[] {
  const expiry = order.expireTime;
  const sameExpiry =
    terms.expireTime !== undefined && expiry !== undefined && compareInstants(terms.expireTime, expiry) === 0;
  return [
    ['symbol', terms.symbol, order.instrument.symbol],
    ['outcome', terms.outcome, order.instrument.outcome],
    ['quantity', terms.quantity, order.quantity],
    ['orderType', terms.orderType, order.orderType],
    ['timeInForce', terms.timeInForce, order.timeInForce],
    ['price', terms.price, order.price],
    ['stopPrice', terms.stopPx, order.stopPrice],
    ['expireTime', terms.expireTime, sameExpiry ? terms.expireTime : expiry],
  ];
}

/** Their order, and blanks in a padded OCC symbol, make no difference. */
function legsText(legs: AccountPlaceTerms['legs']): string | undefined {
  const texts = legs?.map(
    ({ symbol, side, ratioQty }) => `${symbol.replaceAll(' ', '')} ${directionOf(orderWord(side))} ${ratioQty}`,
  );
  return texts?.toSorted().join(', ');
}

function fact(code: string, { request }: Command, bound: BoundOrder, shows: ResolvingUpdate | undefined): Fact {
  return {
    kind: 'update',
    code,
    attemptId: bound.attemptId,
    detail: { stream: request.stream, orderId: bound.orderId, matches: bound.matches, ...(shows && viewOf(shows)) },
  };
}

function viewOf({ revision, cause, order }: ResolvingUpdate): object {
  const { status, certainty, cumQty, pendingAction } = order;
  const isPending = pendingAction !== 'none' && pendingAction !== undefined;
  return { revision, cause, status, certainty, cumQty, ...(isPending && { pendingAction }) };
}
