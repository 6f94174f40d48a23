import { formatInstant } from '../../../src/domain/instant.ts';
import type { Watermark } from '../../../src/domain/observation.ts';
import { keysOf } from '../../../src/service/orders/entry.ts';
import { HeadCache } from '../../../src/service/orders/head-cache.ts';
import { noneUnproven, type PreparedBatch, prepareBatch } from '../../../src/service/orders/prepare-batch.ts';
import { predictionView } from './arbitrary-orders.ts';
import { observe } from './observe.ts';

const beganMs = Date.parse('2026-11-21T14:00:00.000Z');

/** When the mark of a batch was written. */
export const atOf = (number: number): string => formatInstant(beganMs + number * 1_000);

/**
 * Batches as ingest makes them, numbered from 1: two updates each, of orders that
 * live for six updates, then a heartbeat, which proves the batch before.
 * Generation 1, lane 0 unless told otherwise.
 */
export function provenBatches(
  count: number,
  { lane = 0, generation = 1, first = 1 }: { lane?: number; generation?: number; first?: number } = {},
): PreparedBatch[] {
  const cache = new HeadCache(1_000);
  const batches: PreparedBatch[] = [];
  let unproven = noneUnproven(BigInt(first - 1));
  for (let number = first; number < first + count; number += 1) {
    const mark: Watermark = {
      kind: 'watermarks',
      markId: `mark-${generation}-${number}`,
      stream: 'prediction',
      accountIds: ['acct-1'],
      event: 'heartbeat',
      atMs: beganMs + number * 1_000,
    };
    const changes = [0, 1].map((each) => {
      const orderId = `o-${generation}-${Math.floor(number / 6)}-${each}`;
      const view = { ...predictionView, orderId, quantity: '9', cumQty: String((number % 6) + 1) };
      return observe(view, { sourceVersion: BigInt(number), observedAtMs: mark.atMs });
    });
    const entries = [...changes, mark];
    const batch = prepareBatch(entries, cache, {
      keys: keysOf(entries),
      lane,
      generation,
      number: BigInt(number),
      unreadable: new Map(),
      unproven,
      bindings: new Map(),
    });
    unproven = batch.unproven;
    for (const key of batch.touched) cache.unpin(key);
    cache.trim();
    batches.push(batch);
  }
  return batches;
}
