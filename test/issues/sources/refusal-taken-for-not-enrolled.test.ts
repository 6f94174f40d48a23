// What a user saw: An enrolled account was without prediction orders for an hour, and all looked well.

import { it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

it.each(['SLOW_CONSUMER', 'UNKNOWN_TARGET', 'RATE_LIMITED', 'BAD_REQUEST'])(
  'a subscription that is refused with %s is asked for again soon, and counts as a trouble meanwhile',
  async (code) => {
    const rig = connectorsRig({ timings: { notEnrolledMs: 3_600_000, refusedMs: 60_000 } });
    rig.platform.subscription = (stream) => (stream === 'prediction' ? { code } : 'acknowledge');
    await rig.begin();
    await rig.until('prediction', 'login_required');
    rig.platform.subscription = () => 'acknowledge';
    await rig.until('prediction', 'live', 'acct-1', 70_000);
    await rig.connectors.end();
  },
);
