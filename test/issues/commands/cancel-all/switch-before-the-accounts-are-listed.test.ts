// What a user saw: Just after a start a dead man's switch was told that its account does not exist.

import { expect, it } from 'vitest';
import { CommandRig, workingOrder } from '../../../support/commands/command-rig.ts';

const asked = { principal: 'desk', accountIds: ['acct-1'], requestId: 'request-1' };
const arm = (rig: CommandRig, more: { readonly implied?: boolean } = {}) =>
  rig.during(rig.commands.cancelAfter({ ...asked, ...more, afterMs: 30_000 }));
const word = { by: 'desk', reason: 'stop', requestId: 'request-2', idempotencyKey: 'k' };
const notFollowed = { known: false, live: false, isSim: false, certain: false, notEnrolled: false };
const notListed = { ...notFollowed, mayAppear: true };
const comeAgain = { kind: 'declined', code: 'SOURCE_NOT_LIVE', retryAfterMs: 1_000 };

it('an arming and a cancel-all of an account are told to come again', async () => {
  const rig = await CommandRig.leading();
  rig.commit(workingOrder);
  rig.probes.now = notListed;
  expect(await arm(rig)).toMatchObject(comeAgain);
  expect(await arm(rig, { implied: true })).toMatchObject(comeAgain);
  const all = rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, word);
  expect(await rig.during(all)).toMatchObject(comeAgain);
  rig.probes.now = notFollowed;
  expect(await arm(rig)).toMatchObject({ kind: 'declined', code: 'ACCOUNT_NOT_FOUND' });
});

it('a renewal is taken, so that its timer does not fire', async () => {
  const rig = await CommandRig.leading();
  rig.commit(workingOrder);
  await arm(rig);
  rig.probes.now = notListed;
  for (let i = 0; i < 5; i += 1) {
    await rig.clock.advance(20_000);
    expect(await arm(rig)).toMatchObject({ kind: 'done', accountIds: ['acct-1'] });
  }
  expect(rig.entry.sent).toEqual([]);
});

it('a renewal that names no account is taken too where the account is not followed for a while', async () => {
  const rig = await CommandRig.leading();
  rig.commit(workingOrder);
  await arm(rig);
  rig.probes.now = notFollowed;
  for (let i = 0; i < 5; i += 1) {
    await rig.clock.advance(20_000);
    expect(await arm(rig, { implied: true })).toMatchObject({ kind: 'done', accountIds: ['acct-1'] });
  }
  expect(rig.entry.sent).toEqual([]);
  expect(await arm(rig)).toMatchObject({ kind: 'declined', code: 'ACCOUNT_NOT_FOUND' });
});

it('accounts that are not followed are left out where the caller named none', async () => {
  const rig = await CommandRig.leading();
  rig.probes.now = notFollowed;
  expect(await arm(rig, { implied: true })).toEqual({ kind: 'done', accountIds: [], declined: [] });
  expect(rig.journal.audits).toEqual([]);
});

it('a cancel-all of every account covers one that is not listed yet, and says that it may be open', async () => {
  const rig = await CommandRig.leading();
  rig.commit(workingOrder);
  rig.probes.now = notListed;
  const all = rig.commands.cancelAll({ kind: 'service', accountIds: ['acct-1'] }, word);
  expect(await rig.during(all)).toMatchObject({ kind: 'done', open: true, declined: [] });
});
