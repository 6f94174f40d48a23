// What a user saw: An order stayed at an old version for ever after the platform had lost its store.

import { expect, it, onTestFinished } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { predictionRow } from '../../support/platform/platform-rows.ts';

const lost = {
  ...predictionRow,
  state: 'unknown',
  certainty: 'unknown_store_lost',
  certaintyReason: 'The order store was lost',
  updatedAt: '2026-01-05T14:30:05.000Z',
};

// Found by the simulator, seed 246: the stream brought an order while the first list was still
// failing, the store was lost, its versions began again at 1, and the order stayed at the old
// version for good, since nothing was frozen before a first complete read.
it('opens a new source epoch when the store is lost after the first frames and before the first complete read', async () => {
  const rig = connectorsRig();
  rig.platform.listError = ({ stream }) =>
    stream === 'prediction' ? { status: 503, message: 'busy', retryable: true, sent: 'yes' } : undefined;
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.until('prediction', 'resyncing');
  rig.platform.emit('prediction', 'acct-1', predictionRow, 41n);

  rig.platform.emit('prediction', 'acct-1', lost, 1n);
  rig.platform.rows.set('prediction:acct-1', [{ ...lost, version: '1' }]);
  rig.platform.listError = undefined;
  await rig.until('prediction', 'live');

  expect(rig.registry.get('prediction', 'acct-1')?.sourceEpoch).toBe(1);
  const seen = rig.sink.observations.map(({ sourceEpoch, sourceVersion }) => `${sourceEpoch}/${sourceVersion}`);
  expect(seen.at(0)).toBe('0/41');
  expect(seen.at(-1)).toBe('1/1');
});
