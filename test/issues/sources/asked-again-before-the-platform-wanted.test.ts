// What a user saw: A limiter that asked for a minute was asked again at once, and never let go.

import { expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

const error = { status: 429, code: 'RATE_LIMITED', message: 'slow down', retryable: true, sent: 'yes' } as const;

it.each([
  [45_000, 45_000],
  [86_400_000, 60_000],
])(
  'an account that gets live is read again after the %i ms that the platform asks for, at most a minute',
  async (retryAfterMs, restMs) => {
    const rig = connectorsRig();
    rig.platform.listError = ({ stream }) => (stream === 'account' ? { ...error, retryAfterMs } : undefined);
    await rig.begin();
    const reads = () => rig.platform.lists.filter(({ stream }) => stream === 'account').length;
    await rig.clock.advanceUntil(() => reads() > 0, 10_000);
    const first = reads();
    await rig.clock.advance(restMs - 1_000);
    expect(reads()).toBe(first);
    await rig.clock.advance(2_000);
    expect(reads()).toBe(first + 1);
    rig.platform.listError = undefined;
    await rig.until('account', 'live', 'acct-1', 400_000);
  },
);
