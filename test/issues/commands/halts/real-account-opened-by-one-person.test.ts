// What a user saw: One person alone could open a real account with first limits as wide as that person liked.

import { describe, expect, it } from 'vitest';
import type { BoundsChange, LimitScope } from '../../../../src/domain/limits.ts';
import { CommandRig, placeEquity, word } from '../../../support/commands/command-rig.ts';

const second = { ...word, by: 'bob', reason: 'agreed' };
const wide = { maxQuantity: '999999999', maxNotional: '999999999999', ordersPerMinute: 1_000_000 };

async function realRig() {
  const rig = await CommandRig.leading({ fourEyes: true, accounts: ['acct-1'] });
  rig.probes.now = { ...rig.probes.now, isSim: false };
  const change = (scope: LimitScope, bounds: BoundsChange) =>
    rig.during(rig.commands.operator.changeLimits(scope, bounds, word));
  const approveAll = async () => {
    const waiting = await rig.during(rig.commands.operator.approvals.list());
    if (waiting.kind !== 'done') throw new Error(waiting.message);
    for (const { approvalId } of waiting.approvals)
      expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({ kind: 'done' });
    return waiting.approvals.length;
  };
  return { rig, change, approveAll };
}

/**
 * A real account takes no order until it has limits, and the first ones needed no second principal:
 * one person opened it, as wide as it liked.
 */
describe('the first limits of a real account, with four eyes', () => {
  it.each<[string, LimitScope]>([
    ['account', { accountId: 'acct-1' }],
    ['everyone', {}],
    ['principal', { principal: 'desk' }],
    ['principal on the account', { principal: 'desk', accountId: 'acct-1' }],
  ])('wait for a second principal as a row of the %s', async (_what, scope) => {
    const { rig, change, approveAll } = await realRig();
    expect(await rig.declined(placeEquity)).toBe('LIMITS_REQUIRED');
    expect(await change(scope, wide)).toMatchObject({ kind: 'requested' });
    expect(await rig.declined(placeEquity)).toBe('LIMITS_REQUIRED');
    expect(await approveAll()).toBe(1);
    expect((await rig.send(placeEquity)).state).toBe('accepted');
  });

  it('wait one by one too: the last alone would show the second principal none of the others', async () => {
    const { change } = await realRig();
    for (const bounds of [{ maxQuantity: '9' }, { maxNotional: '9' }, { ordersPerMinute: 9 }])
      expect(await change({ accountId: 'acct-1' }, bounds), JSON.stringify(bounds)).toMatchObject({
        kind: 'requested',
      });
  });

  it('do not wait where a wider row has these bounds already, nor for a bound that opens nothing', async () => {
    const { change, approveAll } = await realRig();
    await change({}, wide);
    await approveAll();
    expect(await change({ accountId: 'acct-1' }, { maxQuantity: '5', maxNotional: '9' })).toMatchObject({
      kind: 'done',
    });
    expect(await change({ accountId: 'acct-2' }, { forbiddenSymbols: ['AAPL'], maxOpenOrders: 1 })).toMatchObject({
      kind: 'done',
    });
  });

  it('wait where the account is not known, and not where it is known to be simulated', async () => {
    const { rig, change } = await realRig();
    rig.probes.now = { ...rig.probes.now, isSim: true, known: false };
    expect(await change({ accountId: 'acct-1' }, wide)).toMatchObject({ kind: 'requested' });
    rig.probes.now = { ...rig.probes.now, known: true };
    expect(await change({ accountId: 'acct-1' }, wide)).toMatchObject({ kind: 'done' });
  });
});

describe('a resume, with four eyes', () => {
  it('that a token of some accounts has asked for lifts no halt for every account, whoever approves it', async () => {
    const rig = await CommandRig.leading({ fourEyes: true });
    const scope = { kind: 'account', accountId: 'acct-1' } as const;
    await rig.during(rig.commands.operator.halt(scope, word));
    expect(await rig.during(rig.commands.operator.resume(scope, { ...word, ofSomeAccounts: true }))).toMatchObject({
      kind: 'requested',
    });
    const waiting = await rig.during(rig.commands.operator.approvals.list());
    const [asked] = waiting.kind === 'done' ? waiting.approvals : [];
    expect(await rig.during(rig.commands.operator.approve(asked?.approvalId ?? '', second))).toMatchObject({
      code: 'EVERY_ACCOUNT_NEEDED',
    });
    expect(rig.commands.operator.halts.list()).toHaveLength(1);
  });
});
