// What a user saw: A replace that had worked was shown as rejected, with the reason of a refused cancel.

import { describe, expect, it } from 'vitest';
import type { Order } from '../../../src/domain/order.ts';
import { settleCommand } from '../../../src/domain/settle-command.ts';
import { cancelOf, commandOf, predictionOrder, replaceOf, updateAt } from '../../support/commands/settling.ts';

const at = (version: bigint, over: Partial<Order> = {}) => ({
  ...updateAt(Number(version), over),
  sourceVersion: version,
});
const refused = { rejectReason: 'TOO_LATE', rejectText: 'too late to cancel' };

// A replace of terms that never show at work was granted unseen; a later cancel was refused, with
// its reason, and that was read as the refusal of the replace.
describe('a reason that is new on the order of a replace whose terms never show', () => {
  const command = commandOf(replaceOf({ timeInForce: 'day' }), {
    state: 'accepted',
    seenPendingAt: { revision: 5, sourceVersion: 55n },
  });
  const judge = (...updates: ReturnType<typeof at>[]) => settleCommand({ command, updates });

  it('says nothing about it after a cancel was in hand', () => {
    const cancelPending = at(56n, { pendingAction: 'cancel' });
    expect(judge(cancelPending)).toMatchObject({ kind: 'nothing' });
    expect(judge(cancelPending, at(57n, refused))).toMatchObject({
      outcome: 'conflict',
      because: 'nothing_to_tell_by',
    });
  });

  it('says nothing about it after a version that nobody heard: it may have been granted there, and a cancel asked for', () => {
    expect(judge(at(58n, refused))).toMatchObject({ outcome: 'conflict', because: 'nothing_to_tell_by' });
    expect(judge(at(57n, refused))).toMatchObject({ outcome: 'conflict' });
    const pendingAgain = at(57n, { pendingAction: 'replace' });
    expect(judge(pendingAgain, at(58n, refused))).toMatchObject({ outcome: 'conflict' });
  });

  it('rejects it where every version since it was seen pending was heard', () => {
    const pending = at(55n, { pendingAction: 'replace' });
    expect(judge(pending, at(56n, refused))).toMatchObject({ outcome: 'rejected', because: 'reason_recorded' });
    const filling = [56n, 57n].map((version) =>
      at(version, { pendingAction: 'replace', cumQty: String(version - 55n) }),
    );
    expect(judge(...filling, at(58n, refused))).toMatchObject({ outcome: 'rejected', because: 'reason_recorded' });
  });
});

// The order keeps the reason that was recorded last. A cancel was refused between the submission of
// the replace and its arrival; the replace was granted, and the reason still showed: new against
// the order as it was at the submission, and old when the venue answered.
describe('a reason that a cancel left on the order before the replace was in hand', () => {
  const seenPendingAt = { revision: 6, sourceVersion: 60n };
  const command = commandOf(replaceOf({ timeInForce: 'day' }), { state: 'accepted', seenPendingAt });
  const judge = (...updates: ReturnType<typeof at>[]) => settleCommand({ command, updates });
  const cancelRefused = [at(58n, { pendingAction: 'cancel' }), at(59n, refused)];
  const pending = at(60n, { pendingAction: 'replace', ...refused });
  const conflict = { outcome: 'conflict', because: 'nothing_to_tell_by' };

  it('does not reject it: the replace may have been granted', () => {
    expect(judge(...cancelRefused, pending, at(61n, refused))).toMatchObject(conflict);
    expect(judge(pending, at(61n, refused))).toMatchObject(conflict);
    const { seenPendingAt: _none, ...unseen } = command;
    const updates = [...cancelRefused, pending, at(61n, refused)];
    expect(settleCommand({ command: unseen, updates })).toMatchObject(conflict);
  });

  it('does not reject it where that version was missed at which it was seen pending by the answer', () => {
    expect(judge(...cancelRefused, at(61n, refused))).toMatchObject(conflict);
    expect(judge(at(61n, refused))).toMatchObject(conflict);
  });

  it('does not reject it where the version at which it was pending showed no reason, and an older one did', () => {
    expect(judge(...cancelRefused, at(60n, { pendingAction: 'replace' }), at(61n, refused))).toMatchObject(conflict);
  });

  it('does not hide one that the venue records with its answer', () => {
    const answered = at(61n, { rejectReason: 'TOO_LATE', rejectText: 'too late to amend' });
    expect(judge(...cancelRefused, pending, answered)).toMatchObject({
      outcome: 'rejected',
      because: 'reason_recorded',
      reason: { message: 'too late to amend' },
    });
  });
});

// The order shows one action at a time: behind a cancel a replace may still be on its way to the
// venue, and the other way round.
describe('while another action was seen in hand after it', () => {
  it('a replace is not rejected by the old terms, until it is seen pending again', () => {
    const command = commandOf(replaceOf({ price: '0.5' }));
    const both = [at(60n, { pendingAction: 'replace' }), at(61n, { pendingAction: 'cancel' }), at(62n, refused)];
    expect(settleCommand({ command, updates: both })).toMatchObject({ kind: 'reached', at: { sourceVersion: 60n } });
    const granted = at(63n, { working: { quantity: '10', price: '0.5' } });
    expect(settleCommand({ command, updates: [...both, granted] })).toMatchObject({ outcome: 'applied' });
    const again = [at(63n, { pendingAction: 'replace' }), at(64n)];
    expect(settleCommand({ command, updates: [...both, ...again] })).toMatchObject({ outcome: 'rejected' });
  });

  it('a cancel is not rejected by the answer to a replace', () => {
    const command = commandOf(cancelOf(predictionOrder));
    const both = [at(60n, { pendingAction: 'cancel' }), at(61n, { pendingAction: 'replace' }), at(62n, refused)];
    expect(settleCommand({ command, updates: both })).toMatchObject({ kind: 'reached', at: { sourceVersion: 60n } });
    expect(settleCommand({ command, updates: [...both, at(63n, { status: 'canceled' })] })).toMatchObject({
      outcome: 'applied',
    });
    const again = [at(63n, { pendingAction: 'cancel' }), at(64n)];
    expect(settleCommand({ command, updates: [...both, ...again] })).toMatchObject({ outcome: 'rejected' });
  });

  it('what was pending before it was seen itself changes nothing', () => {
    const command = commandOf(cancelOf(predictionOrder), {
      state: 'accepted',
      seenPendingAt: { revision: 5, sourceVersion: 61n },
    });
    const updates = [at(60n, { pendingAction: 'replace' }), at(62n, refused)];
    expect(settleCommand({ command, updates })).toMatchObject({ outcome: 'rejected' });
  });
});
