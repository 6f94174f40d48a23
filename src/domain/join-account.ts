import {
  type AccountJoin,
  carriedFields,
  comparePlaces,
  compareViews,
  joinOfView,
  joinRegisters,
  lesserOf,
  mergeJoins,
} from './account-join.ts';
import { type AccountMemory, type Correction, memoryOf, recallJoin } from './account-memory.ts';
import { compareDecimals } from './decimal.ts';
import type { Doubt, Head, Reduction } from './head.ts';
import { compareInstants, sameToCoarser } from './instant.ts';
import { correctInstrument, shownInstrument } from './joined-instrument.ts';
import type { Observation, ReductionRules } from './observation.ts';
import {
  isTerminal,
  isTold,
  type Order,
  type OrderView,
  type OwnFields,
  type TerminalStatus,
  terminalPrecedence,
} from './order.ts';
import { composeOrder, showRegisters } from './order-code.ts';
import { beginNext, changedFields, contradictedFields, deriveFill, ownFields, ownOfNext } from './order-fields.ts';
import { contradictsContent, contradictsInstrument, contradictsSpeltLegs } from './view-content.ts';

/**
 * Account orders (equities and options, unversioned). The new view joins all before it. A revision
 * is made if the order shown by the join has changed. Stream events and list rows are treated
 * alike.
 */
export const byJoin: ReductionRules = { first: firstRevision, next: nextOrder, goOn: joinAccount };

function joinAccount(head: Head, observation: Observation): Reduction {
  const { view } = observation;
  const held = recallJoin(head);
  const { correction, formerly, side, former } = head.join as AccountMemory;
  const sinceRead = correction === undefined ? 1 : compareInstants(view.updatedAt, correction.readAt);
  const dispute = disputeOf(held, head.order, observation, sinceRead);
  if (dispute !== undefined && observation.overrules === head.revision) return correct(head, held, view, correction);
  const joined = sinceRead <= 0 || isUndone(observation, correction) ? held : mergeJoins(held, joinOfView(view));
  if (joined === held) return withoutEffect(held, view, dispute);

  const order = presentAccount(joined, ownFields(head.order));
  const changed = changedFields(head.order, order);
  if (changed.every((field) => carriedFields.has(field))) {
    const join = memoryOf(joined, head.order, correction, { formerly, side, former });
    return { result: 'duplicate', head: { ...head, join }, ...doubt(dispute) };
  }
  const before = named(head);
  const renamed = isRenamed(before, order);
  const join = memoryOf(joined, order, correction, {
    former,
    formerly: renamed ? nameOf(before) : formerly,
    side: lastSide(before, order),
  });
  const next: Head = { order, revision: head.revision + 1, join };
  const odd = oddOf(observation, order, renamed && nameOf(order) !== formerly);
  const learnt = onlyAdds(head.order, order, changed);
  return { result: 'applied', head: next, changed, learnt, ...fillOf(head.order, order), ...doubt(dispute ?? odd) };
}

/** Nearly every change has a new instant, so the rest is seldom asked. */
function onlyAdds(before: Order, after: Order, changed: readonly string[]): boolean {
  const isLater = changed.includes('updatedAt') && !sameToCoarser(before.updatedAt, after.updatedAt);
  return !isLater && !changed.includes('conflict') && contradictedFields(before, after).length === 0;
}

function isUndone({ view, cause }: Observation, correction: Correction | undefined): boolean {
  const undone = cause === 'stream' ? correction?.undone : undefined;
  return undone !== undefined && compareInstants(view.updatedAt, undone) === 0;
}

/** Of the stream alone: REST is asked once about a new name, or a state that contradicts itself. */
function oddOf({ cause }: Observation, { conflict }: Order, isRenamed = false): Doubt | undefined {
  return cause === 'stream' && (conflict !== undefined || isRenamed) ? 'contradicted' : undefined;
}

function firstRevision(observation: Observation, own: OwnFields): Reduction {
  const joined = joinOfView(observation.view);
  const order = presentAccount(joined, own);
  const head: Head = { order, revision: 1, join: memoryOf(joined, order, undefined) };
  return {
    result: 'applied',
    head,
    changed: changedFields(undefined, order),
    ...fillOf(undefined, order),
    ...doubt(oddOf(observation, order)),
  };
}

/** Views up to the confirming read show the order before. */
function nextOrder(head: Head, { view }: Observation, own: OwnFields): Reduction {
  const joined = joinOfView(view);
  const order = presentAccount(joined, ownOfNext(head, own));
  const { correction } = head.join as AccountMemory;
  const read = { epoch: correction?.epoch ?? 0, readAt: view.updatedAt };
  const join = memoryOf(joined, order, read, { former: head.order.commandId });
  return beginNext(head, order, join);
}

function withoutEffect(held: AccountJoin, view: OrderView, dispute: Doubt | undefined): Reduction {
  return { result: compareViews(view, held.winner) === 0 ? 'duplicate' : 'stale', ...doubt(dispute) };
}

function doubt(kind: Doubt | undefined): { readonly doubt?: Doubt } {
  return kind === undefined ? noDoubt : { doubt: kind };
}

const noDoubt = Object.freeze({});

type Named = Pick<Order, 'instrument' | 'side'>;

/** By the last shown side: a view without one does not deny it. */
function named({ order, join }: Head): Named {
  const { side } = join as AccountMemory;
  return side === undefined ? order : { instrument: order.instrument, side };
}

/** To be remembered, where the order does not show it. */
function lastSide(before: Named, { side }: Order): string | undefined {
  return !isTold(side) && isTold(before.side) ? before.side : undefined;
}

function isRenamed(before: Named, after: Order): boolean {
  const bothTell = isTold(before.side) && isTold(after.side);
  return (bothTell && before.side !== after.side) || contradictsInstrument(before.instrument, after.instrument);
}

function nameOf({ instrument, side }: Named): string {
  return JSON.stringify([side, instrument]);
}

/**
 * The confirmed read undoes the join over all views before. The join starts again from the read,
 * even if that clears a terminal status. Only the fields that name the order (references, legs,
 * history) and the lowest working total are kept. Fills taken back are not a fill.
 */
function correct(head: Head, held: AccountJoin, view: OrderView, before: Correction | undefined): Reduction {
  const fresh = joinOfView(view);
  const joined: AccountJoin = {
    ...fresh,
    instrument: correctInstrument(held.instrument, view),
    leastWorking: lesserOf(held.leastWorking, fresh.leastWorking),
    registers: joinRegisters(held.registers, fresh.registers),
  };
  const order = presentAccount(joined, ownFields(head.order));
  const instants = [held.winner.updatedAt, ...Object.values(held.endedAt)];
  const undone = instants.reduce((a, b) => (compareInstants(a, b) < 0 ? b : a));
  const correction: Correction = {
    epoch: (before?.epoch ?? 0) + 1,
    readAt: view.updatedAt,
    ...(compareInstants(undone, view.updatedAt) > 0 && { undone }),
  };
  const join = memoryOf(joined, order, correction, {
    side: lastSide(named(head), order),
    former: (head.join as AccountMemory).former,
  });
  const next: Head = { order, revision: head.revision + 1, join };
  return { result: 'applied', head: next, changed: changedFields(head.order, order), correction: true };
}

/**
 * How a view contradicts the order shown, but for the usual way on: more is filled, or it is newer,
 * or further along at one instant. At the instant of a correction there is no such way, since the
 * join takes nothing more from there. A row of REST that is older is late, or the platform's clock
 * was set back. Events are late too often, and a correction has decided for its own instant. A
 * status left out denies no end.
 */
function disputeOf(
  { winner, endedAt, terminalCumQty }: AccountJoin,
  shown: Order,
  { view, cause }: Observation,
  sinceRead: number,
): Doubt | undefined {
  const { status, updatedAt } = view;
  const mayDeny = terminalCumQty !== undefined && status !== 'unknown';
  const ends = mayDeny ? Object.entries(endedAt).flatMap(([end, at]) => (end === status ? [] : [at])) : [];
  if (ends.length === 0 && sinceRead > 0 && comparePlaces(view, winner) > 0) return undefined;
  const isLate = [winner.updatedAt, ...ends].some((at) => compareInstants(updatedAt, at) < 0);
  if (cause === 'stream' ? isLate || sinceRead <= 0 : isLate && status === 'unknown') return undefined;
  if (ends.length === 0 && !contradictsShown(view, shown, winner)) return undefined;
  return isLate ? 'late' : 'contradicted';
}

/** An end hides some of the winning view. */
function contradictsShown(view: OrderView, shown: Order, winner: OrderView): boolean {
  if (shown.status === 'unknown' && view.status !== 'unknown') return true;
  const seen = isTerminal(view.status) ? { ...view, leavesQty: '0', pendingAction: 'none' as const } : view;
  const { legs } = view.instrument;
  return (
    (contradictsContent(view, winner) && contradictsContent(seen, shown)) ||
    (legs !== undefined && contradictsSpeltLegs(legs, shown.instrument.legs ?? legs))
  );
}

function shownEnd({ terminals }: AccountJoin): TerminalStatus | undefined {
  return terminalPrecedence.find((status) => terminals[status] !== undefined);
}

/**
 * Always inferred: without versions, one fill can't be distinguished from several merged into one
 * event, or from fills in a lost event.
 */
function fillOf(before: Order | undefined, after: Order): Pick<Extract<Reduction, { result: 'applied' }>, 'fill'> {
  const fill = deriveFill(before, after, true);
  return fill === undefined ? {} : { fill };
}

/** The account order a join shows: made from the join and our own fields alone. */
export function presentAccount(join: AccountJoin, own: OwnFields): Order {
  const { winner, terminals, registers } = join;
  const order = composeOrder(winner, own);
  showRegisters(order, registers);
  order.instrument = shownInstrument(winner.instrument, join.instrument);
  order.avgPrice = averagePrice(join);
  const terminal = shownEnd(join);
  if (terminal === undefined) return order;
  // It has no working quantity and nothing pending, even if the winning view still shows some.
  order.status = terminal;
  order.statusRaw = terminals[terminal] ?? winner.statusRaw;
  order.leavesQty = '0';
  order.pendingAction = 'none';
  order.conflict = contradiction(join, terminal) ?? own.conflict;
  return order;
}

/** An average over fewer fills than the order has would be a wrong price: then none is shown. */
function averagePrice({ priced, winner }: AccountJoin): string | undefined {
  return priced !== undefined && compareDecimals(priced.cumQty, winner.cumQty) === 0 ? priced.avgPrice : undefined;
}

/**
 * Why a person, or one read of the order, should look. Clears by itself when a later view resolves
 * it. If there are two terminal statuses, only a correction resolves it.
 */
function contradiction(join: AccountJoin, shown: TerminalStatus): string | undefined {
  const { winner, terminals, terminalCumQty } = join;
  const reasons: string[] = [];
  const seen = terminalPrecedence.filter((status) => terminals[status] !== undefined);
  if (seen.length > 1) reasons.push(`ended more than once: ${seen.join(', ')}`);
  if (terminalCumQty !== undefined && compareDecimals(terminalCumQty, winner.cumQty) < 0) {
    reasons.push(`ended at ${terminalCumQty} filled, but ${winner.cumQty} were reported`);
  }
  if (shown === 'filled' && !isWhole(join)) {
    reasons.push(`filled with ${winner.cumQty} of ${winner.quantity}`);
  }
  return reasons.length === 0 ? undefined : reasons.join('; ');
}

/**
 * All is filled: the ordered quantity, the working quantity, or at least a working total that had
 * been lowered. An order for an amount has none of them.
 */
function isWhole({ winner: { cumQty, quantity, working }, leastWorking }: AccountJoin): boolean {
  if (quantity === undefined || cumQty === quantity || cumQty === working.quantity) return true;
  return compareDecimals(cumQty, quantity) < 0 && compareDecimals(leastWorking ?? quantity, cumQty) <= 0;
}
