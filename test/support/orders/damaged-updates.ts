import type { LogRow } from '../../../src/domain/committed-batch.ts';
import { atOf, provenBatches } from './proven-batches.ts';

/**
 * What can happen to the updates of a batch between the log and a
 * consumer. Each returns the rows that arrive.
 */
const kinds: readonly ((rows: readonly [LogRow, LogRow]) => { rows: LogRow[]; found: string | undefined })[] = [
  ([a]) => ({ rows: [a], found: '1 of 2 updates' }),
  ([, b]) => ({ rows: [b], found: '1 of 2 updates' }),
  () => ({ rows: [], found: '0 of 2 updates' }),
  ([a, b]) => ({ rows: [a, edited(b, '"quantity":"9"', '"quantity":"8"')], found: 'other content' }),
  ([a, b]) => ({ rows: [edited(a, '"occurredAt":"2026', '"occurredAt":"2027'), b], found: 'other content' }),
  ([a, b]) => ({ rows: [a, b, edited(b, /"revision":\d+/, '"revision":99')], found: '3 of 2 updates' }),
  // Harmless: consumers drop repeats.
  ([a, b]) => ({ rows: [a, b, a, b, a], found: undefined }),
];

function edited(row: LogRow, from: string | RegExp, to: string): LogRow {
  const payload = row.payload.replace(from, to);
  if (payload === row.payload) throw new Error('nothing was edited');
  return { ...row, payload };
}

/**
 * `count` batches, each of which but the first was damaged in one of the ways, and the holes that a
 * consumer must find, in order.
 */
export function damagedUpdates(count: number): { updates: LogRow[]; marks: LogRow[]; holes: string[] } {
  const updates: LogRow[] = [];
  const marks: LogRow[] = [];
  const holes: string[] = [];
  const batches = provenBatches(count + 3);
  for (const [index, { rows }] of batches.entries()) {
    const [a, b, mark] = rows;
    if (a === undefined || b === undefined || mark === undefined) throw new Error('a batch has two updates and a mark');
    marks.push(mark);
    const damage = index === 0 || index > count ? undefined : kinds[index % kinds.length]?.([a, b]);
    updates.push(...(damage?.rows ?? [a, b]));
    const number = index + 1;
    if (damage?.found === undefined) continue;
    holes.push(
      `lane 0: HOLE from ${atOf(number)} to ${atOf(number + 1)}: batches ${number} to ${number}: ${damage.found}`,
    );
  }
  return { updates, marks, holes };
}
