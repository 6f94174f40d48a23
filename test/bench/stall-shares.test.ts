import { expect, test } from 'vitest';
import { type Cause, type StallTrace, shareStalls, type TracedBatch } from '../../bench/stall-shares.ts';

/**
 * 100 ms: 20 in the queue, 10 behind another batch, 30 of statement, 5 before the send, 35 of it.
 */
const batch: TracedBatch = {
  rows: 3,
  receivedMs: [1000],
  sentMs: 1020,
  aheadUntilMs: 1030,
  backend: { ranMs: 6, waitedMs: 9 },
  committedMs: 1060,
  sendMs: 1065,
  ackedMs: 1100,
};

function shares(trace: Partial<StallTrace>) {
  const { updates, late, causes } = shareStalls(
    { clockOffsetMs: 0, collections: [], blocks: [], batches: [batch], ...trace },
    { fromMs: 0, untilMs: 5000 },
  );
  const named = causes.filter(({ percent }) => percent > 0).map(({ cause, percent }) => [cause, percent]);
  return { updates, late, percent: Object.fromEntries(named) as Partial<Record<Cause, number>>, causes };
}

test('a late update waited for the steps of its batch, each for as long as it took', () => {
  const { updates, late, percent } = shares({});
  expect({ updates, late }).toEqual({ updates: 3, late: 1 });
  expect(percent).toEqual({
    'queue for a batch': 20,
    'the batch before it': 10,
    'statement: runs': 6,
    'statement: no core for it': 9,
    'statement: sync, disk, locks': 15,
    'queue for the send': 5,
    'the broker': 35,
  });
});

test('while the event loop stands still, nothing else is waited for', () => {
  const { percent } = shares({
    blocks: [{ fromMs: 1070, untilMs: 1110, waitedForCoreMs: 20 }],
    collections: [[1075, 1083]],
  });
  expect(percent).toMatchObject({ collector: 8, 'no core for the service': 15, 'event loop busy': 7, 'the broker': 5 });
});

test('what an update waited for longest is counted once for it', () => {
  const { causes } = shares({});
  expect(causes.filter(({ longestOf }) => longestOf > 0)).toEqual([{ cause: 'the broker', percent: 35, longestOf: 1 }]);
});

test('batches that were acknowledged outside the window do not count', () => {
  const later = { ...batch, ackedMs: 6000 };
  expect(shares({ batches: [later] })).toMatchObject({ updates: 0, late: 0, percent: {} });
});
