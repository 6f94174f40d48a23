import { compareDecimals, type Decimal } from './decimal.ts';
import { compareInstants } from './instant.ts';
import {
  compareFilled,
  type InstrumentJoin,
  instrumentOfView,
  laterOf,
  mergeInstruments,
} from './joined-instrument.ts';
import {
  fieldsWhere,
  isTerminal,
  isTold,
  type OrderView,
  orderTable,
  type RegisterField,
  statusRank,
  type TerminalStatus,
  terminalPrecedence,
} from './order.ts';
import { accountContent, compareText } from './view-content.ts';

/** Facts about an account order, of no single view. */
export const registerFields = fieldsWhere(({ register }) => register !== undefined) as RegisterField[];
export const carriedFields: ReadonlySet<string> = new Set(fieldsWhere(({ register }) => register === 'remembered'));

export type Registers = Readonly<Partial<Pick<OrderView, RegisterField>>>;

/**
 * The registers from both. Gives `a` itself when `b` adds nothing. From two values: the earlier
 * instant, or the greater text. Any total order will do.
 */
export function joinRegisters(a: Registers, b: Registers): Registers {
  let merged: Partial<Record<RegisterField, string>> | undefined;
  for (const field of registerFields) {
    const theirs = b[field];
    const ours = a[field];
    if (theirs === undefined || theirs === ours || (ours !== undefined && !prevails(field, theirs, ours))) continue;
    merged ??= pickRegisters(a);
    merged[field] = theirs;
  }
  return merged ?? a;
}

/** Only the registers, taken from an object with more fields. */
export function pickRegisters(from: Registers): Partial<Record<RegisterField, string>> {
  const picked: Partial<Record<RegisterField, string>> = {};
  for (const field of registerFields) {
    const value = from[field];
    if (value !== undefined) picked[field] = value;
  }
  return picked;
}

function prevails(field: RegisterField, theirs: string, ours: string): boolean {
  return orderTable[field].kind === 'instant' ? compareInstants(theirs, ours) < 0 : theirs > ours;
}

/** Each terminal status seen, with the platform's own word for it. */
export type Terminals = Readonly<Partial<Record<TerminalStatus, string>>>;

/**
 * The newest instant at which each terminal status was seen. A newer view with another status may
 * take it back.
 */
export type EndedAt = Readonly<Partial<Record<TerminalStatus, string>>>;

/** The average price that counts: the one from the view with the highest cumQty. */
export interface Priced extends Pick<OrderView, 'cumQty' | 'updatedAt'> {
  readonly avgPrice: Decimal;
}

/**
 * The join over all views of one account order (docs/merging.md, "Account orders"). Every
 * component is a maximum or a union. So merging is commutative, associative and idempotent: neither
 * arrival order nor repetition can matter. Consumers see an order made from it alone
 * (`join-account.ts`).
 */
export interface AccountJoin {
  /**
   * The maximum by (cumQty, updatedAt, the status's rank, content). Its cumQty is the order's.
   * Terminal views compete too: else an order first seen filled has no price.
   */
  readonly winner: OrderView;
  readonly terminals: Terminals;
  readonly endedAt: EndedAt;
  /**
   * The highest cumQty in a terminal view. If it is less than the order's own, no source has
   * confirmed the final result yet.
   */
  readonly terminalCumQty: Decimal | undefined;
  /** The maximum by (cumQty, updatedAt, avgPrice) over the views with a price. */
  readonly priced: Priced | undefined;
  readonly instrument: InstrumentJoin;
  /** The lowest working total in any view: an order may be filled with that. */
  readonly leastWorking: Decimal | undefined;
  readonly registers: Registers;
}

const noTerminals: Terminals & EndedAt = Object.freeze({});

export function joinOfView(view: OrderView): AccountJoin {
  const { status, statusRaw, cumQty, updatedAt, avgPrice } = view;
  const terminal = isTerminal(status);
  return {
    winner: view,
    terminals: terminal ? { [status]: statusRaw } : noTerminals,
    endedAt: terminal ? { [status]: updatedAt } : noTerminals,
    terminalCumQty: terminal ? cumQty : undefined,
    priced: avgPrice === undefined ? undefined : { cumQty, updatedAt, avgPrice },
    instrument: instrumentOfView(view),
    leastWorking: view.working.quantity,
    registers: view,
  };
}

/**
 * The least join above both. Gives `a` itself when `b` adds nothing: callers recognise a repetition
 * by it.
 */
export function mergeJoins(a: AccountJoin, b: AccountJoin): AccountJoin {
  const winner = compareViews(a.winner, b.winner) < 0 ? b.winner : a.winner;
  const terminals = mergeTerminals(a.terminals, b.terminals, (known, word) => word > known);
  const endedAt = mergeTerminals(a.endedAt, b.endedAt, (known, at) => compareInstants(at, known) > 0);
  const terminalCumQty = laterOf(a.terminalCumQty, b.terminalCumQty, compareDecimals);
  const priced = laterOf(a.priced, b.priced, comparePrices);
  const instrument = mergeInstruments(a.instrument, b.instrument);
  const leastWorking = lesserOf(a.leastWorking, b.leastWorking);
  const registers = joinRegisters(a.registers, b.registers);
  const same =
    winner === a.winner &&
    terminals === a.terminals &&
    endedAt === a.endedAt &&
    terminalCumQty === a.terminalCumQty &&
    priced === a.priced &&
    instrument === a.instrument &&
    leastWorking === a.leastWorking &&
    registers === a.registers;
  return same ? a : { winner, terminals, endedAt, terminalCumQty, priced, instrument, leastWorking, registers };
}

/**
 * cumQty first: filled quantity stays filled. updatedAt decides only within one cumQty, and the
 * status only between views that agree on both. (The rule "drop every view with a lower cumQty"
 * depends on arrival order in two of three random sets of views; "REST loses a tie to the stream"
 * does in one of twenty.)
 */
export function compareViews(a: OrderView, b: OrderView): number {
  return (
    comparePlaces(a, b) ||
    (a === b ? 0 : toldFields(a) - toldFields(b) || compareText(accountContent(a), accountContent(b)))
  );
}

/** How far along its life each shows the order: 0 where only their content can decide. */
export function comparePlaces(a: OrderView, b: OrderView): number {
  return compareFilled(a, b) || statusRank(a.status) - statusRank(b.status);
}

/** Of two views of one instant, one that leaves a price or a word out does not deny it. */
function toldFields({ price, stopPrice, orderType, timeInForce, side }: OrderView): number {
  const prices = Number(price !== undefined) + Number(stopPrice !== undefined);
  return prices + [orderType, timeInForce, side].filter(isTold).length;
}

function mergeTerminals<T extends Terminals | EndedAt>(
  a: T,
  b: T,
  prevails: (known: string, theirs: string) => boolean,
): T {
  if (b === noTerminals) return a;
  let merged = a;
  for (const status of terminalPrecedence) {
    const theirs = b[status];
    if (theirs === undefined) continue;
    const known = a[status];
    if (known === undefined || prevails(known, theirs)) merged = { ...merged, [status]: theirs };
  }
  return merged;
}

export function lesserOf(a: Decimal | undefined, b: Decimal | undefined): Decimal | undefined {
  return laterOf(a, b, compareBackwards);
}

function compareBackwards(a: Decimal, b: Decimal): number {
  return compareDecimals(b, a);
}

function comparePrices(a: Priced, b: Priced): number {
  return compareFilled(a, b) || compareDecimals(a.avgPrice, b.avgPrice);
}
