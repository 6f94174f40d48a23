import type { Batch, QuarantineRow } from '../ingest/order-store.ts';
import { bigintArray, textArray } from './binary-array.ts';

const maxRawCharacters = 64 * 1024;

/** The parameters of `apply_batch`, in its order. Throws a RangeError or SyntaxError when a number is none that Postgres could store. */
export function batchValues({ lane, epoch, number, heads, updates, quarantine }: Batch): unknown[] {
  return [
    lane,
    epoch.toString(),
    number.toString(),
    textArray(heads.map((head) => head.stream)),
    textArray(heads.map((head) => head.orderId)),
    textArray(heads.map((head) => head.accountId)),
    textArray(heads.map((head) => head.symbol)),
    textArray(heads.map((head) => head.status)),
    bigintArray(heads.map((head) => head.revision)),
    bigintArray(heads.map((head) => head.sourceVersion)),
    textArray(
      heads.map((head) => head.state),
      'json',
    ),
    textArray(
      heads.map((head) => head.join),
      'json',
    ),
    textArray(updates.map((update) => update.stream)),
    textArray(updates.map((update) => update.orderId)),
    textArray(updates.map((update) => update.accountId)),
    bigintArray(updates.map((update) => update.revision)),
    textArray(updates.map((update) => update.payload)),
    ...quarantineValues(quarantine),
  ];
}

/** Quarantine takes everything: a row that it refused would be found poisonous, put in quarantine, and refused again. */
function quarantineValues(rows: readonly QuarantineRow[]): unknown[] {
  return [
    textArray(rows.map((row) => row.stream)),
    textArray(rows.map((row) => (row.accountId === null ? null : storable(row.accountId)))),
    textArray(rows.map((row) => (row.orderId === null ? null : storable(row.orderId)))),
    // Indexed, and a metric label: an index entry has a limit of 2.7 kB.
    textArray(rows.map((row) => storable(row.reason).slice(0, 100))),
    textArray(rows.map((row) => storable(row.detail))),
    textArray(rows.map((row) => storable(row.raw))),
    bigintArray(rows.map((row) => (Number.isSafeInteger(Math.trunc(row.observedAtMs)) ? Math.trunc(row.observedAtMs) : 0))),
  ];
}

/** Postgres' text has no NUL: its visible symbol stands in. */
function storable(text: string): string {
  return text.slice(0, maxRawCharacters).replaceAll('\0', '\u2400').toWellFormed();
}
