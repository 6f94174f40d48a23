import type { Leg } from '../domain/order.ts';
import { optionRoot } from '../domain/symbol.ts';
import { RowReader } from './row-reader.ts';

/** Venues take four. */
const maxLegs = 16;

/** A row's `legs`. A fault of a leg is a fault of the row. */
export function readLegs(row: RowReader, legOf: (leg: RowReader) => Leg): Leg[] {
  return row.list('legs', maxLegs).map((item) => {
    const reader = new RowReader(item);
    const leg = legOf(reader);
    if (reader.fault !== undefined) row.fail('legs', reader.fault.reason, `legs with ${reader.fault.detail}`);
    return leg;
  });
}

/** The symbol over a contract, as a package of legs has it. */
export function rootOf(contract: string): string {
  return optionRoot(contract) ?? contract;
}
