import type { Order, WorkingTerms } from './order.ts';
import { comparedFields, type OrderField, sameField } from './order-fields.ts';

/** The top-level fields in which two orders differ by value; for a first revision (`before` undefined) all that are present. */
export function changedFields(before: Order | undefined, after: Order): OrderField[] {
  if (before === undefined) return comparedFields.filter((field) => after[field] !== undefined);
  const changed: OrderField[] = [];
  for (const field of comparedFields) {
    if (before[field] !== after[field] && !sameField(field, before, after)) changed.push(field);
  }
  return changed;
}

/** As `changedFields`, over what both have: what one source leaves out does not contradict the other. */
export function contradictedFields(before: Order, after: Order): OrderField[] {
  return changedFields(before, after).filter((field) =>
    field === 'working'
      ? workingContradicts(before.working, after.working)
      : before[field] !== undefined && after[field] !== undefined && field !== 'instrument',
  );
}

function workingContradicts(a: WorkingTerms, b: WorkingTerms): boolean {
  const differ = (x: string | undefined, y: string | undefined) => x !== undefined && y !== undefined && x !== y;
  return differ(a.quantity, b.quantity) || differ(a.price, b.price) || differ(a.orderType, b.orderType);
}
