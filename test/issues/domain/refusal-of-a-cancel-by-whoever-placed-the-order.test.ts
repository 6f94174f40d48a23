// What a user saw: A cancel was shown as rejected because another program's was; then it cancelled the order.

import { describe, expect, it } from 'vitest';
import type { Order } from '../../../src/domain/order.ts';
import { settleCommand } from '../../../src/domain/settle-command.ts';
import { CommandRig, cancelWorking, unknown, workingOrder } from '../../support/commands/command-rig.ts';
import { cancelOf, commandOf, equityOrder, predictionOrder, updateAt } from '../../support/commands/settling.ts';

/**
 * Met by seed 11505 of the simulator: everything of an account is canceled, also what
 * another program placed. Of one cancel nobody knows whether it arrived; the program that
 * placed the order cancels it too, and the venue refuses that. Ours was told to be rejected,
 * arrived after all, and the order was canceled.
 */
describe.each([
  ['account', equityOrder],
  ['prediction', predictionOrder],
] as const)('a cancel of an order of the %s stream that somebody else placed', (_stream, base) => {
  const theirs: Order = { ...base, origin: 'external' };
  const command = commandOf(cancelOf(theirs));
  const refusedInHand = [
    updateAt(6, { pendingAction: 'cancel' }, theirs),
    updateAt(7, { rejectText: 'too late' }, theirs),
  ];

  it('is not rejected where one was seen pending and refused, known to have arrived or not', () => {
    expect(settleCommand({ command, updates: refusedInHand })).toEqual({ kind: 'nothing' });
    expect(settleCommand({ command: { ...command, state: 'accepted' }, updates: refusedInHand })).toEqual({
      kind: 'nothing',
    });
  });

  it('is settled by the end of the order', () => {
    const canceled = [...refusedInHand, updateAt(8, { status: 'canceled' }, theirs)];
    expect(settleCommand({ command, updates: canceled })).toMatchObject({ outcome: 'applied' });
    const filled = [...refusedInHand, updateAt(8, { status: 'filled' }, theirs)];
    expect(settleCommand({ command, updates: filled })).toMatchObject({ outcome: 'moot' });
  });

  it('is rejected by the same where the order is ours', () => {
    const ours = refusedInHand.map((update) => ({
      ...update,
      order: { ...update.order, origin: 'tidemark' as const },
    }));
    expect(settleCommand({ command, updates: ours })).toMatchObject({ outcome: 'rejected' });
  });
});

describe('a cancel of an order that somebody else placed', () => {
  it('is rejected where the answer of the platform named the version at which it was in hand', () => {
    const theirs: Order = { ...predictionOrder, origin: 'external' };
    const accepted = { state: 'accepted', seenPendingAt: { revision: 5, sourceVersion: 60n } } as const;
    const updates = [updateAt(6, { pendingAction: 'cancel' }, theirs), updateAt(7, { rejectText: 'too late' }, theirs)];
    expect(settleCommand({ command: commandOf(cancelOf(theirs), accepted), updates })).toMatchObject({
      outcome: 'rejected',
    });
  });

  it('stays unknown while its owner’s is refused, and is applied when it arrives after all', async () => {
    const rig = await CommandRig.leading();
    const theirs: Order = { ...workingOrder, origin: 'external' };
    rig.commit(theirs);
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send(cancelWorking);
    rig.commit({ ...theirs, pendingAction: 'cancel' });
    rig.commit({ ...theirs, rejectText: 'too late' });
    await rig.clock.advance(600_000);
    expect(rig.state(commandId)).toBe('unknown');
    rig.commit({ ...theirs, pendingAction: 'cancel' });
    rig.commit({ ...theirs, status: 'canceled' });
    await rig.clock.advance(1_000);
    expect(rig.state(commandId)).toBe('applied');
  });
});
