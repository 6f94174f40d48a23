// What a user saw: An order showed for ever what the platform had said before it lost its store.

import { expect, it, onTestFinished } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { eventText, predictionRow, type Row } from '../../support/platform/platform-rows.ts';

const early: Row = { ...predictionRow, updatedAt: '2026-01-05T14:00:00Z' };
const lost: Row = {
  ...predictionRow,
  orderId: 'told-1',
  certainty: 'unknown_store_lost',
  updatedAt: '2026-01-05T14:29:00Z',
};

// Found by reading: a single order was being asked for when the platform lost its store. The
// answer, of the old store and with a version of it, came after the next source epoch had been
// opened and was offered under it: above everything that the new store would say, for good.
it('gives no answer that was asked for before the store was lost the source epoch that came after', async () => {
  const rig = connectorsRig();
  rig.platform.rows.set('prediction:acct-1', [{ ...early, version: '100' }]);
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.until('prediction', 'live');
  let answer = () => {};
  rig.platform.beforeGet = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  // A frame that cannot be read: its order is asked for.
  rig.socket('prediction').deliver(eventText('prediction', 'acct-1', early, 'null'));
  await rig.clock.advance(10);
  expect(rig.platform.gets).toEqual([predictionRow['orderId']]);

  rig.platform.rows.set('prediction:acct-1', [
    { ...early, version: '1' },
    { ...lost, version: '2' },
  ]);
  rig.platform.emit('prediction', 'acct-1', lost, 2n);
  await rig.clock.advanceUntil(() => rig.registry.get('prediction', 'acct-1')?.sourceEpoch === 1, 60_000);
  answer();
  await rig.until('prediction', 'live');

  const versions = rig.sink.observations
    .filter(({ sourceEpoch }) => sourceEpoch === 1)
    .map((each) => each.sourceVersion);
  expect(versions).toEqual([1n, 2n]);
});
