import { compareInstants } from './instant.ts';
import type { OrderView } from './order.ts';

/**
 * Facts of an account order that belong to no single view: once learnt, from whichever source, they stay.
 *
 * - `told`: learning one is news, and makes a revision.
 * - `carried`: sent by one kind of source only (list rows have createdAt, events don't). If they made a revision, the first audit would revise every order. They
 *   are remembered at once and shown by the next revision that has another reason. So they are outside the promise that arrival order doesn't matter, as `extra` is.
 */
const told = ['clOrdId', 'clientOrderRef', 'venueOrderId', 'rejectReason', 'rejectText'] as const;
const carried = ['createdAt', 'placedBy', 'sentAt', 'firstAckAt', 'closedAt'] as const;
const instants: ReadonlySet<string> = new Set(['createdAt', 'sentAt', 'firstAckAt', 'closedAt']);

export const registerFields = [...told, ...carried] as const;
export const carriedFields: ReadonlySet<string> = new Set(carried);

export type Registers = Readonly<Partial<Pick<OrderView, (typeof registerFields)[number]>>>;

/** The registers of both. Gives `a` itself when `b` adds nothing. Of two values the earlier instant, the greater text: any rule will do that is a total order. */
export function joinRegisters(a: Registers, b: Registers): Registers {
  let merged: Partial<Record<(typeof registerFields)[number], string>> | undefined;
  for (const field of registerFields) {
    const theirs = b[field];
    const ours = a[field];
    if (theirs === undefined || theirs === ours || (ours !== undefined && !prevails(field, theirs, ours))) continue;
    merged ??= pickRegisters(a);
    merged[field] = theirs;
  }
  return merged ?? a;
}

/** Only the registers, of an object that has more. */
export function pickRegisters(from: Registers): Partial<Record<(typeof registerFields)[number], string>> {
  const picked: Partial<Record<(typeof registerFields)[number], string>> = {};
  for (const field of registerFields) {
    const value = from[field];
    if (value !== undefined) picked[field] = value;
  }
  return picked;
}

function prevails(field: (typeof registerFields)[number], theirs: string, ours: string): boolean {
  return instants.has(field) ? compareInstants(theirs, ours) < 0 : theirs > ours;
}
