import type { Batch } from '../ingest/order-store.ts';
import { type Allocate, bigintArray, textArray } from './binary-array.ts';

const maxRawCharacters = 64 * 1024;

/**
 * The parameters of `apply_batch`, in its order, or of `apply_batch_with_bindings` where there are bindings. Throws a RangeError or SyntaxError when a number
 * is none that Postgres could store.
 */
export function batchValues(batch: Batch, allocate: Allocate): unknown[] {
  const { lane, epoch, number, heads, updates, quarantine, bindings = [] } = batch;
  const texts = (values: (string | null)[]) => textArray(values, 'text', allocate);
  const jsons = (values: string[]) => textArray(values, 'json', allocate);
  const bigints = (values: (number | string | null)[]) => bigintArray(values, allocate);
  const values: unknown[] = [
    lane,
    epoch.toString(),
    number.toString(),
    texts(heads.map((head) => head.stream)),
    texts(heads.map((head) => head.orderId)),
    texts(heads.map((head) => head.accountId)),
    texts(heads.map((head) => head.symbol)),
    texts(heads.map((head) => head.status)),
    bigints(heads.map((head) => head.revision)),
    bigints(heads.map((head) => head.reducedFrom)),
    bigints(heads.map((head) => head.sourceVersion)),
    jsons(heads.map((head) => head.state)),
    jsons(heads.map((head) => head.join)),
    texts(updates.map((update) => update.stream)),
    texts(updates.map((update) => update.orderId)),
    texts(updates.map((update) => update.accountId)),
    bigints(updates.map((update) => update.revision)),
    texts(updates.map((update) => update.payload)),
    texts(quarantine.map((row) => row.stream)),
    texts(quarantine.map((row) => (row.accountId === null ? null : storable(row.accountId)))),
    texts(quarantine.map((row) => (row.orderId === null ? null : storable(row.orderId)))),
    // Indexed, and a metric label: an index entry has a limit of 2.7 kB.
    texts(quarantine.map((row) => storable(row.reason).slice(0, 100))),
    texts(quarantine.map((row) => storable(row.detail))),
    texts(quarantine.map((row) => storable(row.raw))),
    bigints(quarantine.map((row) => storableMs(row.observedAtMs))),
  ];
  if (bindings.length === 0) return values;
  values.push(
    texts(bindings.map((row) => row.stream)),
    texts(bindings.map((row) => row.orderId)),
    texts(bindings.map((row) => row.attemptId)),
    texts(bindings.map((row) => row.commandId)),
    bigints(bindings.map((row) => (row.matches ? 1 : 0))),
  );
  return values;
}

// Quarantine takes everything: a row that it refused would be found poisonous, put in quarantine, and refused again.

/** Postgres' text has no NUL: its visible symbol stands in. */
function storable(text: string): string {
  return text.slice(0, maxRawCharacters).replaceAll('\0', '\u2400').toWellFormed();
}

function storableMs(ms: number): number {
  return Number.isFinite(new Date(ms).getTime()) ? Math.trunc(ms) : 0;
}
