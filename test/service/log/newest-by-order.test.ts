import { describe, expect, it } from 'vitest';
import type { CommittedBatch } from '../../../src/domain/committed-batch.ts';
import { NewestByOrder } from '../../../src/service/log/newest-by-order.ts';

const limits = { maxOrders: 3, maxBytes: 100 };

/** A batch whose rows are `key=payload`; its last seq is ten times its number. */
function batch(number: bigint, ...rows: string[]): CommittedBatch {
  return {
    number,
    lastSeq: rows.length === 0 ? undefined : number * 10n,
    rows: rows.map((text) => ({
      topic: text.startsWith('mark') ? 'continuity' : 'updates',
      key: text.slice(0, text.indexOf('=')),
      payload: text.slice(text.indexOf('=') + 1),
    })),
    receivedMs: rows.map(() => 0),
    streams: rows.map(() => 'account' as const),
    committedMs: 0,
    bytes: 0,
  };
}

function wholeAt(lastBatch: bigint): NewestByOrder {
  const newest = new NewestByOrder(limits, lastBatch);
  newest.beginRead();
  newest.endRead(lastBatch * 10n);
  return newest;
}

const harvested = (newest: NewestByOrder) => {
  const harvest = newest.harvest();
  return harvest && [harvest.upTo, ...harvest.rows.map(({ key, payload }) => `${key}=${payload}`)];
};

describe('the newest row of each order', () => {
  it('is the last one handed over, and continuity marks are none of its business', () => {
    const newest = wholeAt(0n);
    newest.addCommitted(batch(1n, 'a=1', 'b=1', 'a=2', 'mark=1'));
    newest.addCommitted(batch(2n, 'b=3'));
    expect(harvested(newest)).toEqual([20n, 'a=2', 'b=3']);
    expect(harvested(newest)).toEqual([20n]);
  });

  it('is not known before the first read, after a gap, and after a failure', () => {
    const fresh = new NewestByOrder(limits, 0n);
    fresh.addCommitted(batch(1n, 'a=1'));
    const gap = wholeAt(0n);
    gap.addCommitted(batch(2n, 'a=1'));
    const failed = wholeAt(0n);
    failed.addCommitted(batch(1n, 'a=1'));
    failed.fail();
    for (const newest of [fresh, gap, failed]) expect([newest.whole, harvested(newest)]).toEqual([false, undefined]);
  });

  it.each([
    ['orders', ['a=1', 'b=1', 'c=1', 'd=1']],
    ['bytes', [`a=${'x'.repeat(60)}`, `b=${'x'.repeat(60)}`]],
  ])('is not known once there are too many %s', (_, rows) => {
    const newest = wholeAt(0n);
    newest.addCommitted(batch(1n, ...rows));
    expect(newest.whole).toBe(false);
  });

  it('counts an order once against the bounds, however often it changes', () => {
    const newest = wholeAt(0n);
    for (let number = 1n; number < 100n; number += 1n) newest.addCommitted(batch(number, `a=${'x'.repeat(60)}`));
    expect(newest.whole).toBe(true);
  });

  it('keeps what was handed over during a read, except what the read has shown', () => {
    const newest = new NewestByOrder(limits, 0n);
    newest.addCommitted(batch(1n, 'a=1'));
    newest.beginRead();
    newest.addCommitted(batch(2n, 'a=2', 'b=2'));
    newest.addCommitted(batch(3n, 'b=3'));
    newest.endRead(25n);
    expect(harvested(newest)).toEqual([30n, 'b=3']);
  });

  it('drops a batch that is handed over after a read has shown it', () => {
    const newest = new NewestByOrder(limits, 0n);
    newest.beginRead();
    newest.endRead(20n);
    newest.addCommitted(batch(1n, 'a=1'));
    newest.addCommitted(batch(2n, 'a=2'));
    newest.addCommitted(batch(3n, 'b=3'));
    expect(harvested(newest)).toEqual([30n, 'b=3']);
  });

  it('does not take a batch without rows behind a gap for the end of the rows in the gap', () => {
    const newest = new NewestByOrder(limits, 0n);
    newest.addCommitted(batch(1n, 'a=1'));
    newest.addCommitted(batch(3n));
    newest.beginRead();
    newest.endRead(20n);
    expect(harvested(newest)).toBeUndefined();
  });
});
