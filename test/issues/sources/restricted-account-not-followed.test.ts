// What a user saw: A cancel on an account that the platform had restricted got ACCOUNT_NOT_FOUND.

import { describe, expect, it, onTestFinished } from 'vitest';
import {
  CommandRig,
  cancelWorking,
  placeEquity,
  placePrediction,
  replaceWorking,
  workingOrder,
} from '../../support/commands/command-rig.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { connectorsRig, liveConnectors } from '../../support/orders/connectors-rig.ts';

const open = { accountId: 'acct-1', isOpen: true, isSim: true, status: 'OPEN' };
/** A list, and the time that the next one may take to come. */
const listed = 61_000;

// An account that the platform restricted was followed no longer, with 1,520 orders open on it, and
// no cancel could be sent: ACCOUNT_NOT_FOUND.
describe('an account whose status is not OPEN', () => {
  it.each(['RESTRICTED', 'CLOSED', 'HALTED_BY_MOON', undefined])('is followed and shown: %s', async (status) => {
    const rig = connectorsRig();
    rig.platform.accounts = [
      { accountId: 'acct-1', isOpen: false, isSim: true, ...(status !== undefined && { status }) },
    ];
    await rig.begin();
    await rig.until('account', 'live');
    await rig.until('prediction', 'live');
    const standing = { isOpen: false, ...(status !== undefined && { status }) };
    expect(rig.connectors.standing('acct-1')).toEqual(standing);
    expect(rig.account('account', 'acct-1')?.standing).toEqual(standing);
  });

  it('keeps its connection when the status changes, and when it changes back', async () => {
    const rig = await liveConnectors();
    const subscribed = rig.platform.sockets.length;
    for (const status of ['RESTRICTED', 'OPEN']) {
      rig.platform.accounts = [{ ...open, isOpen: status === 'OPEN', status }];
      await rig.clock.advance(listed);
      expect(rig.connectors.standing('acct-1')).toEqual({ isOpen: status === 'OPEN', status });
      expect(rig.state('account')).toBe('live');
    }
    expect(rig.platform.sockets).toHaveLength(subscribed);
  });
});

describe('an account that left the list', () => {
  it('is followed on and marked, and is as before when it comes back', async () => {
    const rig = await liveConnectors();
    rig.platform.accounts = [];
    await rig.clock.advance(listed);
    const standing = rig.connectors.standing('acct-1');
    expect(standing).toEqual({ isOpen: false, unlistedSinceMs: expect.any(Number) });
    await rig.clock.advance(10 * listed);
    expect(rig.connectors.standing('acct-1')).toEqual(standing);
    expect(rig.state('account')).toBe('live');
    rig.platform.accounts = [open];
    await rig.clock.advance(listed);
    expect(rig.connectors.standing('acct-1')).toEqual({ isOpen: true, status: 'OPEN' });
  });

  it('may be refused by the platform: it says so, is asked again, and cancels still find it', async () => {
    const rig = await liveConnectors();
    rig.platform.accounts = [];
    await rig.clock.advance(listed);
    rig.platform.subscription = () => ({ code: 'FORBIDDEN' });
    rig.socket('account').end({ kind: 'closed', code: 1006, reason: 'cut' });
    await rig.until('account', 'login_required');
    expect(rig.account('account', 'acct-1')).toMatchObject({
      standing: { isOpen: false },
      lastError: expect.stringContaining('FORBIDDEN'),
    });
    expect(rig.connectors.account('account', 'acct-1')).toBeDefined();
  });

  it('while this process was away is taken up again, from the database', async () => {
    const rig = connectorsRig();
    await rig.registry.save(unreadAccount('acct-7'));
    await rig.begin();
    await rig.until('account', 'live', 'acct-7');
    expect(rig.connectors.standing('acct-7')).toEqual({ isOpen: false, unlistedSinceMs: expect.any(Number) });
  });

  it('while this process was away may be of another credential, where there is one', async () => {
    const rig = connectorsRig({ knowsAll: () => false });
    await rig.registry.save(unreadAccount('acct-7'));
    await rig.begin();
    await rig.until('account', 'live');
    await rig.clock.advance(listed);
    expect(rig.state('account', 'acct-7')).toBeUndefined();
  });

  it('is not one that a list with items that cannot be read does not show', async () => {
    const rig = await liveConnectors();
    const before = rig.connectors.standing('acct-1');
    rig.platform.accounts = [];
    rig.platform.unreadableAccounts = 1;
    await rig.clock.advance(listed);
    expect(rig.connectors.standing('acct-1')).toEqual(before);
    expect(rig.state('account')).toBe('live');
  });
});

describe('commands on an account', () => {
  it.each([
    [{ isOpen: false, status: 'RESTRICTED' }, 'the platform lists the account as RESTRICTED: only cancels are sent'],
    [{ isOpen: false }, 'the platform lists the account without a status: only cancels are sent'],
    [{ isOpen: false, status: 'OPEN', unlistedSinceMs: 1 }, 'the platform does not list the account any more'],
  ])('that is not OPEN are declined where they place, and cancels go out: %o', async (standing, message) => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.probes.standingNow = standing;
    for (const request of [placeEquity, placePrediction, replaceWorking])
      expect(await rig.submit(request)).toMatchObject({
        ...{ kind: 'declined', code: 'ACCOUNT_NOT_OPEN', message: expect.stringContaining(message) },
      });
    // It may be refused on the stream as well: that is no reason to keep a cancel back.
    rig.probes.now = { ...rig.probes.now, live: false };
    expect((await rig.send(cancelWorking)).state).toBe('accepted');
  });

  it('that was not listed since the start wait for its status, and cancels go out', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.probes.standingNow = undefined;
    expect(await rig.submit(placeEquity)).toMatchObject({
      kind: 'declined',
      code: 'SOURCE_NOT_LIVE',
      retryAfterMs: 2_000,
    });
    expect((await rig.send(cancelWorking)).state).toBe('accepted');
  });
});

it('a process that knows the accounts of the database alone says that it has no word on them', async () => {
  const rig = connectorsRig();
  rig.platform.accountsError = { status: 500, message: 'down', retryable: true, sent: 'yes' };
  await rig.registry.save(unreadAccount('acct-7'));
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.until('account', 'live', 'acct-7');
  expect(rig.connectors.standing('acct-7')).toBeUndefined();
});
