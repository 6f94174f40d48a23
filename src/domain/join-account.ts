import {
  type AccountJoin,
  carriedFields,
  compareViews,
  joinOfView,
  joinRegisters,
  mergeJoins,
  pickRegisters,
} from './account-join.ts';
import { type AccountMemory, type Correction, memoryOf, recallJoin } from './account-memory.ts';
import { composeOrder, type OwnFields, ownFields } from './compose-order.ts';
import { compareDecimals } from './decimal.ts';
import type { Doubt, Head, Reduction } from './head.ts';
import { compareInstants } from './instant.ts';
import type { Observation } from './observation.ts';
import type { Order, OrderView, TerminalStatus } from './order.ts';
import { terminalPrecedence } from './order.ts';
import { changedFields, deriveFill } from './order-fields.ts';
import { contradictedIdentity, joinInstruments } from './view-content.ts';

/**
 * Account orders (equities and options, unversioned): the new view joins all before it, and a revision is made when the order that the join shows has changed.
 * Stream events and list rows are treated alike.
 */
export function joinAccount(head: Head | undefined, observation: Observation, own: OwnFields): Reduction {
  const { view } = observation;
  if (head === undefined) return firstRevision(view, own);
  const contradiction = contradictedIdentity(head.order, view);
  if (contradiction !== undefined) {
    return { outcome: 'conflict', reason: 'identity_changed', detail: `${contradiction} differs from the one first seen` };
  }
  const held = recallJoin(head);
  const { correction } = head.join as AccountMemory;
  if (correction !== undefined && compareInstants(view.updatedAt, correction.readAt) <= 0) return withoutEffect(held, view);
  if (observation.correction === true && takesBack(held.winner, view)) return correct(head, held, view, correction);

  const joined = mergeJoins(held, joinOfView(view));
  if (joined === held) return withoutEffect(held, view);
  const order = presentAccount(joined, ownFields(head.order));
  const changed = changedFields(head.order, order);
  if (changed.every((field) => carriedFields.has(field))) {
    return { outcome: 'duplicate', head: { ...head, join: memoryOf(joined, head.order, correction) }, ...doubtOf(held, view) };
  }
  const fill = fillOf(head.order, order);
  const next: Head = { order, revision: head.revision + 1, join: memoryOf(joined, order, correction) };
  return { outcome: 'applied', head: next, changed, ...fill, ...doubtOf(held, view, order) };
}

function firstRevision(view: OrderView, own: OwnFields): Reduction {
  const joined = joinOfView(view);
  const order = presentAccount(joined, own);
  const head: Head = { order, revision: 1, join: memoryOf(joined, order, undefined) };
  return {
    outcome: 'applied',
    head,
    changed: changedFields(undefined, order),
    ...fillOf(undefined, order),
    ...doubtOf(joined, view, order),
  };
}

function withoutEffect(held: AccountJoin, view: OrderView): Reduction {
  return { outcome: compareViews(view, held.winner) === 0 ? 'duplicate' : 'stale', ...doubtOf(held, view) };
}

function doubtOf({ winner }: AccountJoin, view: OrderView, order?: Order): { readonly doubt?: Doubt } {
  if (takesBack(winner, view)) return { doubt: 'taken_back' };
  return order?.conflict === undefined ? noDoubt : { doubt: 'conflict' };
}

const noDoubt = Object.freeze({});

/**
 * The confirmed read undoes the join of all views before: the join starts again from the read, even if that clears a terminal status. Only the fields that name the
 * order (references, legs, history) are kept. Fills that are taken back are not a fill.
 */
function correct(head: Head, held: AccountJoin, view: OrderView, before: Correction | undefined): Reduction {
  const fresh = joinOfView(view);
  const joined: AccountJoin = {
    ...fresh,
    instrument: joinInstruments(held.instrument, fresh.instrument),
    registers: joinRegisters(held.registers, fresh.registers),
  };
  const order = presentAccount(joined, ownFields(head.order));
  const correction: Correction = { epoch: (before?.epoch ?? 0) + 1, readAt: view.updatedAt };
  const next: Head = { order, revision: head.revision + 1, join: memoryOf(joined, order, correction) };
  return { outcome: 'applied', head: next, changed: changedFields(head.order, order), correction: true };
}

/** Checked again here: the head may have changed since the reads, and a correction that is no longer newer and lower is an ordinary view. */
function takesBack(winner: OrderView, view: OrderView): boolean {
  return compareDecimals(view.cumQty, winner.cumQty) < 0 && compareInstants(view.updatedAt, winner.updatedAt) > 0;
}

/** Always inferred: without versions, one fill can't be distinguished from several merged into one event, or from those of a lost event. */
function fillOf(before: Order | undefined, after: Order): Pick<Extract<Reduction, { outcome: 'applied' }>, 'fill'> {
  const fill = deriveFill(before, after, true);
  return fill === undefined ? {} : { fill };
}

/** The account order that a join shows: a function of the join alone, and of our own fields. */
export function presentAccount(join: AccountJoin, own: OwnFields): Order {
  const { winner, terminals } = join;
  const terminal = terminalPrecedence.find((status) => terminals[status] !== undefined);
  const { avgPrice: _own, ...rest } = winner;
  const price = averagePrice(join);
  const view: OrderView = {
    ...rest,
    instrument: join.instrument,
    ...pickRegisters(join.registers),
    ...(price === undefined ? undefined : { avgPrice: price }),
    ...(terminal === undefined ? undefined : ended(terminal, terminals[terminal] ?? winner.statusRaw)),
  };
  const conflict = terminal === undefined ? undefined : contradiction(join, terminal);
  return composeOrder(view, conflict === undefined ? own : { ...own, conflict });
}

/** An order that is over has no working quantity and nothing pending, even if the winning view still shows some. */
function ended(status: TerminalStatus, statusRaw: string): Partial<OrderView> {
  return { status, statusRaw, leavesQty: '0', pendingAction: 'none' };
}

/** An average over fewer fills than the order has would be a wrong price: then none is shown. */
function averagePrice({ priced, winner }: AccountJoin): string | undefined {
  return priced !== undefined && compareDecimals(priced.cumQty, winner.cumQty) === 0 ? priced.avgPrice : undefined;
}

/** Why a person, or one read of the order, should look. Clears by itself when a later view resolves it. Two different terminal statuses are never resolved. */
function contradiction({ winner, terminals, terminalCumQty }: AccountJoin, shown: TerminalStatus): string | undefined {
  const reasons: string[] = [];
  const seen = terminalPrecedence.filter((status) => terminals[status] !== undefined);
  if (seen.length > 1) reasons.push(`ended more than once: ${seen.join(', ')}`);
  if (terminalCumQty !== undefined && compareDecimals(terminalCumQty, winner.cumQty) < 0) {
    reasons.push(`ended at ${terminalCumQty} filled, but ${winner.cumQty} were reported`);
  }
  if (shown === 'filled' && compareDecimals(winner.cumQty, winner.quantity) !== 0) {
    reasons.push(`filled with ${winner.cumQty} of ${winner.quantity}`);
  }
  return reasons.length === 0 ? undefined : reasons.join('; ');
}
