// What a user saw: The prediction orders of a new account never appeared after a short database error.

import { expect, it, onTestFinished } from 'vitest';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

// Found by the simulator, seed 588: the database failed between the two records of a new account,
// then the platform refused its list of accounts. What the registry had by then was followed, and
// the account counted as followed altogether: its prediction orders were never asked for again.
it('follows the second stream of an account whose first stream alone had been stored', async () => {
  const rig = connectorsRig();
  await rig.registry.save(unreadAccount('acct-1'));
  rig.platform.accountsError = { status: 503, message: 'busy', retryable: true, sent: 'yes' };
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.until('account', 'live');
  expect(rig.state('prediction')).toBeUndefined();

  rig.platform.accountsError = undefined;
  await rig.until('prediction', 'live');
});
