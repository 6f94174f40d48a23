import { expect, it } from 'vitest';
import { encodeContinuity } from '../../../src/domain/encode-update.ts';
import { batchOfMark } from '../../../src/service/log/newest-records.ts';
import { proofOf } from '../../../src/service/orders/prepare-batch.ts';

const mark = {
  kind: 'continuity',
  markId: 'm',
  stream: 'account',
  accountIds: ['a'],
  event: 'heartbeat',
  atMs: 0,
} as const;
const proof = proofOf({ after: 4n, count: 0, sum: 0 }, { lane: 3, generation: 2, upTo: 9_007_199_254_740_993n });

it('names the batch of a mark, which is the one after those that its proof is about', () => {
  expect(batchOfMark(encodeContinuity(mark, proof))).toEqual({ lane: 3, generation: 2, batch: 9_007_199_254_740_994n });
});

it('knows nothing of a mark without a proof, or of a record of another program', () => {
  expect(batchOfMark(encodeContinuity(mark))).toBeUndefined();
  expect(batchOfMark('not a mark')).toBeUndefined();
});
