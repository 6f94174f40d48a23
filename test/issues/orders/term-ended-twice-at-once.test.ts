// What a user saw: A service that lost its lane while it was stopping could hang.

import { expect, it } from 'vitest';
import type { ApplyResult } from '../../../src/store/orders/order-store.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

// Found by reading: the lane was lost while ingest drained. The second to end the term was told at
// once that it had ended, so the next term could begin while batches of the old one were in flight,
// and both waited on one wakeup, which has room for one.
it('has ended for nobody before its batches in flight are answered', async () => {
  const rig = await ingestRig(5);
  const answer = Promise.withResolvers<ApplyResult>();
  rig.database.applyBatch = () => answer.promise;
  rig.ingest.begin(rig.hold);
  rig.offer(observe(orderAt(1, 0)));
  await rig.clock.advance(100);
  const ended: string[] = [];
  void rig.ingest.end().then(() => ended.push('drain'));
  void rig.ingest.end().then(() => ended.push('lane lost'));
  await rig.clock.advance(1000);
  expect(ended).toEqual([]);
  answer.resolve({ kind: 'lane_lost' });
  await rig.clock.advance(100);
  expect(ended).toEqual(['drain', 'lane lost']);
});

it('has ended for nobody before the sources have', async () => {
  const rig = connectorsRig();
  await rig.connectors.begin();
  const ended: string[] = [];
  void rig.connectors.end().then(() => ended.push('drain'));
  void rig.connectors.end().then(() => ended.push('lane lost'));
  await rig.clock.settle();
  expect(ended).toEqual([]);
  await rig.clock.advance(100);
  expect(ended).toEqual(['drain', 'lane lost']);
  expect(rig.clock.armed).toBe(0);
});
