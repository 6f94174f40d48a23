// What a user saw: Accounts and single orders were asked for again long before the platform wanted.

import { expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { accountRow } from '../../support/platform/platform-rows.ts';

const error = { status: 429, code: 'RATE_LIMITED', message: 'slow down', retryable: true, sent: 'yes' } as const;
const asked = [
  [45_000, 45_000],
  [86_400_000, 60_000],
];

it.each(asked)(
  'the list of accounts is read again after the %i ms that the platform asks for, at most a minute',
  async (retryAfterMs, restMs) => {
    const rig = connectorsRig();
    let lists = 0;
    const listAccounts = rig.platform.listAccounts.bind(rig.platform);
    rig.platform.listAccounts = () => {
      lists += 1;
      return listAccounts();
    };
    rig.platform.accountsError = { ...error, retryAfterMs };
    await rig.begin();
    await rig.clock.advance(restMs - 1_000);
    expect(lists).toBe(1);
    rig.platform.accountsError = undefined;
    await rig.clock.advance(2_000);
    expect(lists).toBe(2);
    await rig.until('account', 'live');
  },
);

it.each(asked)(
  'a single order is read again after the %i ms that the platform asks for, at most a minute',
  async (retryAfterMs, restMs) => {
    const rig = connectorsRig();
    storeBehind(rig);
    rig.platform.getError = () => ({ ...error, retryAfterMs });
    await rig.begin();
    await rig.until('account', 'live');
    const updatedAt = new Date(rig.clock.nowMs()).toISOString();
    // They contradict themselves, so each is read by its id.
    for (const ordId of ['ord-1', 'ord-2']) {
      const row = {
        ...accountRow,
        ordId,
        clOrdId: ordId,
        ordStatus: 'FILLED',
        cumQty: '90',
        leavesQty: '0',
        avgPrice: '10',
      };
      rig.platform.emit('account', 'acct-1', { ...row, updatedAt });
    }
    await rig.clock.advanceUntil(() => rig.platform.gets.length > 0, 10_000);
    // Those that were under way.
    await rig.clock.advance(1_000);
    const first = rig.platform.gets.length;
    const look = await rig.connectors.account('account', 'acct-1')?.lookAt('ord-3', new AbortController().signal);
    expect(look, 'a command is answered at once').toMatchObject({ complete: false, error: { status: 429 } });
    await rig.clock.advance(restMs - 4_000);
    expect(rig.platform.gets).toHaveLength(first);
    await rig.clock.advance(15_000);
    expect(rig.platform.gets.length).toBeGreaterThan(first);
  },
);
