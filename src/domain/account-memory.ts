import {
  type AccountJoin,
  type EndedAt,
  type Priced,
  pickRegisters,
  type Registers,
  registerFields,
  type Terminals,
} from './account-join.ts';
import type { Decimal } from './decimal.ts';
import type { Head } from './head.ts';
import { type InstrumentJoin, instrumentOfView, isToldBy } from './joined-instrument.ts';
import { type Order, type OrderView, type RegisterField, terminalPrecedence, type Whole } from './order.ts';

/**
 * A correction took a state back. Every view at an instant at or before `readAt` is about that
 * state.
 */
export interface Correction {
  /** 0 until the order's first correction, then 1, 2, 3 … */
  readonly epoch: number;
  /** The correcting read's `updatedAt`. */
  readonly readAt: string;
  /**
   * The `updatedAt` of the view it undid, if that is later: the platform's clock was set back. A
   * repeat of that view does not bring it back.
   */
  readonly undone?: string;
}

/**
 * An account order's `Head.join`: the part of the join the order doesn't show. Plain JSON, and
 * empty for most working orders.
 */
export interface AccountMemory {
  /** The winning view's values, if the order shows something else. */
  readonly winner?: Hidden;
  readonly terminals?: Terminals;
  /** If it isn't the winning view's own instant. */
  readonly endedAt?: EndedAt;
  readonly terminalCumQty?: Decimal;
  /** If it isn't the winning view's own price. */
  readonly priced?: Priced;
  /** If the order's own instrument doesn't show it. */
  readonly instrument?: InstrumentJoin;
  /** If it isn't the winning view's own working total. */
  readonly leastWorking?: Decimal;
  /** Registers learnt since the last revision. */
  readonly carried?: Registers;
  readonly correction?: Correction;
  /**
   * Instrument and side before their last change, as JSON: a change back is not looked at again.
   */
  readonly formerly?: string;
  /** The last shown side, if the order's own view leaves it out. */
  readonly side?: string;
  /** As the order shows it, for queries without the order. */
  readonly incarnation?: number;
  /** The command that placed the order before under the id: a late event may still show it. */
  readonly former?: string;
  /** See `asAnotherOrder`. It goes with the order's next change. */
  readonly inQuestion?: true;
}

type Hidden = Pick<OrderView, 'status' | 'statusRaw' | 'pendingAction' | 'leavesQty' | 'avgPrice'>;

/** The join a head stands for. */
export function recallJoin(head: Head): AccountJoin {
  const { order } = head;
  const memory = head.join as AccountMemory;
  const winner = memory.winner === undefined ? order : withHidden(order, memory.winner);
  const { cumQty, updatedAt, avgPrice } = winner;
  return {
    winner,
    terminals: memory.terminals ?? {},
    endedAt: recallEnds(memory, updatedAt),
    terminalCumQty: memory.terminalCumQty,
    priced: memory.priced ?? (avgPrice === undefined ? undefined : { cumQty, updatedAt, avgPrice }),
    instrument: memory.instrument ?? instrumentOfView(order),
    leastWorking: memory.leastWorking ?? order.working.quantity,
    registers: memory.carried === undefined ? order : { ...pickRegisters(order), ...memory.carried },
  };
}

/** The part of `join` to keep in addition to `order`, so `recallJoin` gives `join` back. */
export function memoryOf(
  join: AccountJoin,
  order: Order,
  correction: Correction | undefined,
  { formerly, side, former }: Partial<Record<'formerly' | 'side' | 'former', string | undefined>> = {},
): Head['join'] {
  const { winner, terminals, terminalCumQty, priced, instrument, leastWorking } = join;
  const carried = notShown(join.registers, order);
  const endedAt = terminalCumQty === undefined ? undefined : earlierEnds(join);
  const memory: Whole<AccountMemory> = {
    winner: shownAsItIs(winner, order) ? undefined : hiddenOf(winner),
    terminals: terminalCumQty === undefined ? undefined : terminals,
    terminalCumQty,
    endedAt,
    priced: priced === undefined || isOwnPrice(priced, winner) ? undefined : priced,
    instrument: isToldBy(instrument, order) ? undefined : instrument,
    leastWorking: leastWorking === winner.working.quantity ? undefined : leastWorking,
    carried,
    correction,
    formerly,
    side,
    incarnation: order.incarnation,
    former,
    inQuestion: undefined,
  };
  return memory;
}

function recallEnds({ terminals, endedAt }: AccountMemory, updatedAt: string): EndedAt {
  const ends: Partial<Record<keyof EndedAt, string>> = {};
  for (const status of terminalPrecedence)
    if (terminals?.[status] !== undefined) ends[status] = endedAt?.[status] ?? updatedAt;
  return ends;
}

function earlierEnds({ endedAt, winner }: AccountJoin): EndedAt | undefined {
  const earlier = Object.entries(endedAt).filter(([, at]) => at !== winner.updatedAt);
  return earlier.length === 0 ? undefined : Object.fromEntries(earlier);
}

function withHidden(order: Order, hidden: Hidden): OrderView {
  const { avgPrice: _price, leavesQty: _left, ...rest } = order;
  return { ...rest, ...hidden };
}

function shownAsItIs(winner: OrderView, order: Order): boolean {
  return (
    winner.status === order.status &&
    winner.statusRaw === order.statusRaw &&
    winner.pendingAction === order.pendingAction &&
    winner.leavesQty === order.leavesQty &&
    winner.avgPrice === order.avgPrice
  );
}

function hiddenOf({ status, statusRaw, pendingAction, leavesQty, avgPrice }: OrderView): Hidden {
  return { status, statusRaw, pendingAction, leavesQty, ...(avgPrice !== undefined && { avgPrice }) };
}

function isOwnPrice(priced: Priced, winner: OrderView): boolean {
  return (
    priced.avgPrice === winner.avgPrice && priced.cumQty === winner.cumQty && priced.updatedAt === winner.updatedAt
  );
}

function notShown(registers: Registers, order: Order): Registers | undefined {
  if (registers === order) return undefined;
  let hidden: Partial<Record<RegisterField, string>> | undefined;
  for (const field of registerFields) {
    const value = registers[field];
    if (value === undefined || value === order[field]) continue;
    hidden ??= {};
    hidden[field] = value;
  }
  return hidden;
}
