// What a user saw: Accounts said that a person has to sign in, since an access token had ended early.

import { expect, it } from 'vitest';
import { connectorsRig, liveConnectors } from '../../support/orders/connectors-rig.ts';

it('an account whose reads are answered 401 is read again, and asks for no sign-in', async () => {
  const rig = connectorsRig();
  const refused = { status: 401, code: 'UNAUTHENTICATED', message: 'revoked', retryable: false, sent: 'yes' } as const;
  rig.platform.listError = ({ stream }) => (stream === 'account' ? refused : undefined);
  await rig.begin();
  for (let second = 0; second < 120; second += 1) {
    await rig.clock.advance(1_000);
    expect(rig.state('account')).not.toBe('login_required');
  }
  expect(rig.account('account', 'acct-1')?.lastError).toMatch(/revoked/);
  rig.platform.listError = undefined;
  await rig.until('account', 'live', 'acct-1', 40_000);
});

it.each([
  ['its upgrade is answered 401', { kind: 'refused', status: 401 }],
  ['it is closed with 4401 at once', { kind: 'closed', code: 4401, reason: 'revoked' }],
] as const)('a connection with a new token is not opened again with this token where %s', async (_what, end) => {
  const rig = await liveConnectors();
  rig.platform.refuse = end;
  rig.platform.renewToken();
  await rig.clock.advance(2_000);
  rig.platform.refuse = undefined;
  const refusedToken = 't2';
  await rig.clock.advance(60_000);
  const opened = rig.platform.sockets.filter(({ token, url }) => token === refusedToken && url === 'ws://account');
  expect(opened).toHaveLength(1);
  expect(rig.state('account')).toBe('live');
});
