import { expect, it } from 'vitest';
import { settleCommand } from '../../src/domain/settle-command.ts';
import { commandOf, replaceOf, updateAt } from '../support/settling.ts';

// A replace of terms that never show at work was granted unseen; a later cancel was refused, with its reason, and that was read as the refusal of the replace.
it('a reason that is new after a cancel was in hand says nothing about the replace before it', () => {
  const command = commandOf(replaceOf({ timeInForce: 'day' }), {
    state: 'accepted',
    seenPendingAt: { revision: 5, sourceVersion: 55n },
  });
  const cancelPending = updateAt(7, { pendingAction: 'cancel' });
  const cancelRefused = updateAt(8, { rejectReason: 'TOO_LATE', rejectText: 'too late to cancel' });
  expect(settleCommand({ command, updates: [cancelPending] })).toMatchObject({ kind: 'nothing' });
  expect(settleCommand({ command, updates: [cancelPending, cancelRefused] })).toMatchObject({ outcome: 'conflict' });
  expect(settleCommand({ command, updates: [cancelRefused] })).toMatchObject({ outcome: 'rejected', because: 'reason_recorded' });
});
