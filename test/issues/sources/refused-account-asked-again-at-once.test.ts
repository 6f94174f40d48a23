// What a user saw: A refused account was asked for again at once, and not after an hour.

import { describe, expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { predictionRow } from '../../support/platform/platform-rows.ts';

describe('an account that is refused while a newer connection waits for its answer', () => {
  it('rests as long as ever, though that connection ends without one', async () => {
    const rig = connectorsRig({ timings: { notEnrolledMs: 300_000 } });
    await rig.begin();
    await rig.until('prediction', 'live');
    const { platform, clock } = rig;
    platform.subscription = (stream) => (stream === 'prediction' ? 'silent' : 'acknowledge');
    platform.renewToken();
    await clock.advance(100);
    platform.listError = ({ stream }) =>
      stream === 'prediction' ? { status: 403, message: 'no', retryable: false, sent: 'yes' } : undefined;
    platform.emit('prediction', 'acct-1', { ...predictionRow, certainty: 'unknown_gap' }, 200n);
    await rig.until('prediction', 'not_enrolled', 'acct-1', 2_000);
    platform.subscription = () => 'acknowledge';
    platform.listError = undefined;
    await clock.advance(290_000);
    expect(rig.state('prediction')).toBe('not_enrolled');
    await rig.until('prediction', 'live', 'acct-1', 20_000);
  });
});
