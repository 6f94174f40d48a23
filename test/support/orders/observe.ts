import { encodeHeadJoin, encodeOrder } from '../../../src/domain/encode-update.ts';
import type { Head, Reduction } from '../../../src/domain/head.ts';
import { decodeHead } from '../../../src/domain/head.ts';
import type { Observation } from '../../../src/domain/observation.ts';
import type { OrderView } from '../../../src/domain/order.ts';
import { reduce } from '../../../src/domain/reduce.ts';

/** An observation around a view, with what matters to the reducers open to change. */
export function observe(view: OrderView, over: Partial<Observation> = {}): Observation {
  return { kind: 'order', cause: 'stream', view, sourceEpoch: 0, observedAtMs: 0, receivedMs: 0, bytes: 1, ...over };
}

interface Fold {
  readonly head: Head;
  readonly reductions: readonly Reduction[];
}

/**
 * Reduces all, in this order. After each index in `persistAfter` the head goes to storage and back,
 * as at a restart or an eviction.
 */
export function fold(observations: readonly Observation[], persistAfter: ReadonlySet<number> = new Set()): Fold {
  let head: Head | undefined;
  const reductions: Reduction[] = [];
  for (const [index, observation] of observations.entries()) {
    const reduction = reduce(head, observation);
    reductions.push(reduction);
    if (reduction.result !== 'conflict' && reduction.head !== undefined) head = reduction.head;
    if (head !== undefined && persistAfter.has(index)) head = throughStorage(head);
  }
  if (head === undefined) throw new Error('nothing was accepted');
  return { head, reductions };
}

/** What the head is after it was written to Postgres and read again. */
export function throughStorage(head: Head): Head {
  const { revision, sourceVersion } = head;
  return decodeHead({
    state: encodeOrder(head.order),
    join: encodeHeadJoin(head),
    revision,
    sourceVersion: sourceVersion === undefined ? null : sourceVersion.toString(),
  });
}

/** The applied reduction, or a failure that says what happened instead. */
export function applied(reduction: Reduction | undefined): Extract<Reduction, { result: 'applied' }> {
  if (reduction?.result !== 'applied') throw new Error(`expected an applied change, got ${JSON.stringify(reduction)}`);
  return reduction;
}
