import { averageOfRest, compareDecimals, parseDecimal, subtractDecimals } from './decimal.ts';
import type { Doubt, Fill, Head, Reduction } from './head.ts';
import { compareInstants, sameToCoarser } from './instant.ts';
import type { Observation } from './observation.ts';
import {
  isTerminal,
  type Order,
  type OrderView,
  type OwnFields,
  orderTable,
  type Whole,
  type WorkingTerms,
} from './order.ts';
import { addChangedHistory, addChangedTerms, type Before } from './order-code.ts';
import { present } from './present.ts';
import { traits } from './streams.ts';
import { contradictsContent, contradictsInstrument } from './view-content.ts';

type OrderField = keyof Order;

/** For an order seen for the first time: no command of ours is known to have placed it. */
export const firstSeen: OwnFields = { origin: 'external' };

/**
 * Our fields, which stay when the platform's part is replaced. Not `conflict`: it is judged again
 * with every change.
 */
export function ownFields(order: Order): Whole<OwnFields> {
  const { origin, commandId, callerRef, sourceEpoch, incarnation } = order;
  return { origin, commandId, callerRef, sourceEpoch, incarnation, conflict: undefined };
}

/**
 * The top-level fields that differ by value between two orders, in the order of the table; for a
 * first revision (`before` undefined) all that are present. Stream and orderId are the key, and
 * `extra` is carried without being compared.
 */
export function changedFields(before: Order | undefined, after: Order): OrderField[] {
  const changed: OrderField[] = [];
  addChangedTerms(changed, before ?? nothing, after);
  addChangedHistory(changed, before ?? nothing, after);
  return changed;
}

/** No field of it is there. */
const nothing: Before = {};

/**
 * Like `changedFields`, over the fields both have: a field one source leaves out does not
 * contradict the other, nor does an instant with other digits of the second.
 */
export function contradictedFields(before: Order, after: Order): OrderField[] {
  return changedFields(before, after).filter((field) => {
    if (field === 'working') return workingContradicts(before.working, after.working);
    if (field === 'instrument') return contradictsInstrument(before.instrument, after.instrument);
    const [a, b] = [before[field], after[field]];
    if (orderTable[field].kind === 'instant')
      return a !== undefined && b !== undefined && !sameToCoarser(String(a), String(b));
    return a !== undefined && b !== undefined;
  });
}

function workingContradicts(a: WorkingTerms, b: WorkingTerms): boolean {
  const differ = (x: string | undefined, y: string | undefined) => x !== undefined && y !== undefined && x !== y;
  return differ(a.quantity, b.quantity) || differ(a.price, b.price) || differ(a.orderType, b.orderType);
}

/**
 * The rise of cumQty between two revisions, or undefined if it did not rise (a correction takes
 * back; it is not a fill with a negative size).
 *
 * The price is exact arithmetic on the platform's values: (avgPrice · cumQty − earlier avgPrice ·
 * earlier cumQty) / rise, with the averages' rounding taken back (`averageOfRest`). It is left out
 * if either average is missing, or if rounding or a price correction would make it nonsense
 * (another sign than the average's).
 */
export function deriveFill(before: Order | undefined, after: Order, inferred: boolean): Fill | undefined {
  const earlierQty = before?.cumQty ?? '0';
  if (compareDecimals(after.cumQty, earlierQty) <= 0) return undefined;
  const quantity = subtractDecimals(after.cumQty, earlierQty);
  const price = fillPrice(before, after);
  return price === undefined ? { quantity, inferred } : { quantity, price, inferred };
}

function fillPrice(before: Order | undefined, after: Order): string | undefined {
  const average = after.avgPrice;
  if (average === undefined) return undefined;
  if (before === undefined || before.cumQty === '0' || before.avgPrice === average) return average;
  if (before.avgPrice === undefined) return undefined;
  const price = averageOfRest(
    { quantity: after.cumQty, average },
    { quantity: before.cumQty, average: before.avgPrice },
  );
  const withinLimits = parseDecimal(price);
  return withinLimits !== undefined && compareDecimals(withinLimits, '0') === compareDecimals(average, '0')
    ? price
    : undefined;
}

export function clientReferenceOf(view: OrderView): string | undefined {
  return view[traits[view.stream].reference];
}

/** A platform, or a venue behind it, may show a reference in capitals. */
function sameReference(a: string, b: string): boolean {
  return a === b || a.toLowerCase() === b.toLowerCase();
}

/**
 * Whether a view under the order's id and account shows another order: the platform gave the id
 * again (docs/decisions/091-an-id-that-is-given-again.md).
 *
 * - The order has ended, and the view has another reference. Not if it tells our end,
 *   at the same instant or of the same creation: some venues give an amended or cancelled order a
 *   new reference.
 * - The view was created after the order's last change. An order still open here may get a new
 *   reference by an amendment: both have to differ; under an id given before, the reference alone.
 * - The order has ended without a reference, and the view has one and shows it at work.
 */
export function isAnotherOrder({ order, join }: Head, view: OrderView): boolean {
  const [known, shown] = [clientReferenceOf(order), clientReferenceOf(view)];
  const { createdAt } = view;
  // Nearly every view ends here.
  const isSame = known === shown || shown === undefined;
  if (isSame && (createdAt === undefined || createdAt === order.createdAt)) return false;
  const isOther = known !== undefined && shown !== undefined && !sameReference(known, shown);
  if (!isOther && !isTerminal(order.status)) return false;
  const { carried, endedAt } = join as Remembered;
  const ours = carried?.createdAt ?? order.createdAt;
  // Later rows without a reference may have been joined to the end.
  const end = isTerminal(order.status) ? (endedAt?.[order.status] ?? order.updatedAt) : order.updatedAt;
  const isSameCreation = createdAt !== undefined && ours !== undefined && sameToCoarser(createdAt, ours);
  const isLater = createdAt !== undefined && !isSameCreation && compareInstants(createdAt, end) >= 0;
  if (!isTerminal(order.status)) return isLater || order.incarnation !== undefined;
  if (isOther && isLater) return true;
  const isTold = showsEnd(order, view);
  if (isOther) return !isTold || !(isSameCreation || compareInstants(view.updatedAt, order.updatedAt) === 0);
  if (isLater) return !isTold && (ours !== undefined || known === undefined || shown === undefined);
  return known === undefined && shown !== undefined && !isSameCreation && !isTerminal(view.status);
}

/** Of `AccountMemory`. */
interface Remembered {
  readonly carried?: Pick<Order, 'createdAt'>;
  readonly endedAt?: Readonly<Partial<Record<Order['status'], string>>>;
}

function showsEnd(order: Order, view: OrderView): boolean {
  if (view.status !== order.status) return false;
  const ended = { leavesQty: '0', pendingAction: 'none' } as const;
  return !contradictsContent({ ...view, ...ended }, { ...order, ...ended });
}

/**
 * What an observation of another order under the head's id does; undefined: it is of the same one.
 * It is never joined. `begins`: two reads have confirmed it, as they do a correction.
 * Otherwise it raises the doubt that makes those reads; an event with an earlier instant is late.
 */
export function asAnotherOrder(head: Head, observation: Observation): Reduction | 'begins' | undefined {
  const { view, cause, overrules } = observation;
  if (!isAnotherOrder(head, view)) return undefined;
  if (overrules === head.revision) return 'begins';
  const isEarlier = compareInstants(view.updatedAt, head.order.updatedAt) < 0;
  if (isEarlier && cause === 'stream') return { result: 'stale' };
  const doubt: Doubt = isEarlier ? 'reused_late' : 'reused';
  if (head.join['inQuestion'] === true) return { result: 'stale', doubt };
  // Kept with the order until it changes: its id may be another one's by now.
  return { result: 'stale', head: { ...head, join: { ...head.join, inQuestion: true } }, doubt };
}

/** Our own fields of the next order under the head's id. Nothing of the order before is its own. */
export function ownOfNext({ order }: Head, own: OwnFields): OwnFields {
  return { ...own, incarnation: (order.incarnation ?? 1) + 1, sourceEpoch: ownFields(order).sourceEpoch };
}

/**
 * The first revision of the next order under an id. Revisions go on, so that consumers' one rule
 * holds; every field and every fill counts from the start.
 */
export function beginNext(
  before: Head,
  order: Order,
  join: Head['join'],
  sourceVersion?: bigint,
): Extract<Reduction, { result: 'applied' }> {
  const fill = deriveFill(undefined, order, true);
  const head: Head = { order, revision: before.revision + 1, join, ...present({ sourceVersion }) };
  const changed = changedFields(undefined, order);
  return { result: 'applied', head, changed, ...present({ fill }), begins: true };
}
