// What a user saw: A cancel was answered with ACCOUNT_NOT_FOUND while the accounts were still being listed.

import { expect, it } from 'vitest';
import { CommandRig, cancelWorking, placeEquity } from '../../support/commands/command-rig.ts';

// Just after a takeover nothing is followed yet, and 404 ACCOUNT_NOT_FOUND told a caller who wanted
// out that there was nothing to cancel.
it.each([placeEquity, cancelWorking])(
  'a command before the accounts are listed is told to come again, not that its account does not exist',
  async (request) => {
    const rig = await CommandRig.leading();
    rig.probes.now = { known: false, mayAppear: true, live: false, isSim: false, certain: false, notEnrolled: false };
    expect(await rig.submit(request)).toMatchObject({ kind: 'declined', code: 'SOURCE_NOT_LIVE', retryAfterMs: 1_000 });
    rig.probes.now = { known: false, live: false, isSim: false, certain: false, notEnrolled: false };
    expect(await rig.submit(request)).toMatchObject({ kind: 'declined', code: 'ACCOUNT_NOT_FOUND' });
  },
);
