// What a user saw: A simulated account counted as real for good, since one list had left out what it is.

import { describe, expect, it } from 'vitest';
import type { PlatformAccount } from '../../../src/venue/platform/order-reads.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { connectorsRig, liveConnectors } from '../../support/orders/connectors-rig.ts';

/** A list, and the time that the next one may take to come. */
const listed = 61_000;
const account = (isSim?: boolean): PlatformAccount => ({
  ...{ accountId: 'acct-1', isOpen: true, status: 'OPEN' },
  ...(isSim !== undefined && { isSim }),
});

type Rig = ReturnType<typeof connectorsRig>;

/** What commands go by, and what the next process begins with. */
function expectSimulated(rig: Rig, isSim: boolean): void {
  for (const stream of ['account', 'prediction'] as const) {
    expect(rig.connectors.account(stream, 'acct-1')?.isSim, stream).toBe(isSim);
    expect(rig.registry.get(stream, 'acct-1')?.isSim, stream).toBe(isSim);
  }
}

async function followed(isSim: boolean | undefined, before: Rig = connectorsRig()): Promise<Rig> {
  before.platform.accounts = [account(isSim)];
  await before.begin();
  await before.until('account', 'live');
  await before.until('prediction', 'live');
  return before;
}

describe('what the list says of an account', () => {
  it('is kept when a later list says nothing of it', async () => {
    const rig = await liveConnectors();
    rig.platform.accounts = [account()];
    await rig.clock.advance(listed);
    expectSimulated(rig, true);
  });

  it('is real where no list has said anything, and simulated from the list on that says so', async () => {
    const rig = await followed(undefined);
    expectSimulated(rig, false);
    rig.platform.accounts = [account(true)];
    await rig.clock.advance(listed);
    expectSimulated(rig, true);
    expect(rig.state('account')).toBe('live');
  });

  it('outlives the process, whose next list says nothing', async () => {
    const rig = connectorsRig();
    await rig.registry.save(unreadAccount('acct-1'));
    // Of the other stream nothing was stored yet.
    await followed(undefined, rig);
    expectSimulated(rig, true);
  });

  it('is real as soon as a list calls a simulated one so, even while nothing can be stored', async () => {
    const rig = await liveConnectors();
    const save = rig.registry.save.bind(rig.registry);
    rig.registry.save = async () => Promise.reject(new Error('the database is away'));
    rig.platform.accounts = [account(false)];
    await rig.clock.advance(listed);
    expect(rig.connectors.account('account', 'acct-1')?.isSim).toBe(false);
    expect(rig.registry.get('account', 'acct-1')?.isSim).toBe(true);
    rig.registry.save = save;
    rig.platform.accounts = [account()];
    await rig.clock.advance(listed);
    expect(rig.connectors.account('account', 'acct-1')?.isSim).toBe(false);
    rig.platform.accounts = [account(false)];
    await rig.clock.advance(listed);
    expectSimulated(rig, false);
  });

  it('is real at once where the stored record says otherwise', async () => {
    const rig = connectorsRig();
    await rig.registry.save(unreadAccount('acct-1'));
    await followed(false, rig);
    await rig.clock.advance(10);
    expectSimulated(rig, false);
  });
});
