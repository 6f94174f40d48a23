import { describe, expect, it } from 'vitest';
import type { Order } from '../../../src/domain/order.ts';
import { resolveCommand } from '../../../src/domain/resolve-command.ts';
import type { ResolvingUpdate } from '../../../src/domain/resolving.ts';
import { CommandRig, cancelWorking, unknown, workingOrder } from '../../support/commands/command-rig.ts';
import {
  baseline,
  cancelOf,
  commandOf,
  equityOrder,
  predictionOrder,
  replaceOf,
  updateAt,
} from '../../support/commands/resolving.ts';

describe('issue: A replace that had worked was shown as rejected, with the reason of a refused cancel.', () => {
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
    const judge = (...updates: ReturnType<typeof at>[]) => resolveCommand({ command, updates });

    it('says nothing about it after a cancel was in hand', () => {
      const cancelPending = at(56n, { pendingAction: 'cancel' });
      expect(judge(cancelPending)).toMatchObject({ kind: 'nothing' });
      expect(judge(cancelPending, at(57n, refused))).toMatchObject({
        result: 'conflict',
        because: 'nothing_to_tell_by',
      });
    });

    it('says nothing about it after a version that nobody heard: it may have been granted there, and a cancel asked for', () => {
      expect(judge(at(58n, refused))).toMatchObject({ result: 'conflict', because: 'nothing_to_tell_by' });
      expect(judge(at(57n, refused))).toMatchObject({ result: 'conflict' });
      const pendingAgain = at(57n, { pendingAction: 'replace' });
      expect(judge(pendingAgain, at(58n, refused))).toMatchObject({ result: 'conflict' });
    });

    it('rejects it where every version since it was seen pending was heard', () => {
      const pending = at(55n, { pendingAction: 'replace' });
      expect(judge(pending, at(56n, refused))).toMatchObject({ result: 'rejected', because: 'reason_recorded' });
      const filling = [56n, 57n].map((version) =>
        at(version, { pendingAction: 'replace', cumQty: String(version - 55n) }),
      );
      expect(judge(...filling, at(58n, refused))).toMatchObject({ result: 'rejected', because: 'reason_recorded' });
    });
  });

  // The order keeps the reason that was recorded last. A cancel was refused between the submission
  // of the replace and its arrival; the replace was granted, and the reason still showed: new
  // against the order as it was at the submission, and old when the venue answered.
  describe('a reason that a cancel left on the order before the replace was in hand', () => {
    const seenPendingAt = { revision: 6, sourceVersion: 60n };
    const command = commandOf(replaceOf({ timeInForce: 'day' }), { state: 'accepted', seenPendingAt });
    const judge = (...updates: ReturnType<typeof at>[]) => resolveCommand({ command, updates });
    const cancelRefused = [at(58n, { pendingAction: 'cancel' }), at(59n, refused)];
    const pending = at(60n, { pendingAction: 'replace', ...refused });
    const conflict = { result: 'conflict', because: 'nothing_to_tell_by' };

    it('does not reject it: the replace may have been granted', () => {
      expect(judge(...cancelRefused, pending, at(61n, refused))).toMatchObject(conflict);
      expect(judge(pending, at(61n, refused))).toMatchObject(conflict);
      const { seenPendingAt: _none, ...unseen } = command;
      const updates = [...cancelRefused, pending, at(61n, refused)];
      expect(resolveCommand({ command: unseen, updates })).toMatchObject(conflict);
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
        result: 'rejected',
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
      expect(resolveCommand({ command, updates: both })).toMatchObject({ kind: 'reached', at: { sourceVersion: 60n } });
      const granted = at(63n, { working: { quantity: '10', price: '0.5' } });
      expect(resolveCommand({ command, updates: [...both, granted] })).toMatchObject({ result: 'applied' });
      const again = [at(63n, { pendingAction: 'replace' }), at(64n)];
      expect(resolveCommand({ command, updates: [...both, ...again] })).toMatchObject({ result: 'rejected' });
    });

    it('a cancel is not rejected by the answer to a replace', () => {
      const command = commandOf(cancelOf(predictionOrder));
      const both = [at(60n, { pendingAction: 'cancel' }), at(61n, { pendingAction: 'replace' }), at(62n, refused)];
      expect(resolveCommand({ command, updates: both })).toMatchObject({ kind: 'reached', at: { sourceVersion: 60n } });
      expect(resolveCommand({ command, updates: [...both, at(63n, { status: 'canceled' })] })).toMatchObject({
        result: 'applied',
      });
      const again = [at(63n, { pendingAction: 'cancel' }), at(64n)];
      expect(resolveCommand({ command, updates: [...both, ...again] })).toMatchObject({ result: 'rejected' });
    });

    it('what was pending before it was seen itself changes nothing', () => {
      const command = commandOf(cancelOf(predictionOrder), {
        state: 'accepted',
        seenPendingAt: { revision: 5, sourceVersion: 61n },
      });
      const updates = [at(60n, { pendingAction: 'replace' }), at(62n, refused)];
      expect(resolveCommand({ command, updates })).toMatchObject({ result: 'rejected' });
    });
  });
});

describe('issue: A refused cancel stayed open, since the order was filled in the same moment.', () => {
  const { sourceVersion: _none, ...unversioned } = baseline;
  const command = commandOf(cancelOf(equityOrder), { baseline: unversioned });
  const at = (revision: number, over: object = {}) => updateAt(revision, over, equityOrder);
  const pending = (revision: number, cumQty = '0') => at(revision, { pendingAction: 'cancel', cumQty });
  const works = (revision: number, cumQty: string) => at(revision, { status: 'partially_filled', cumQty });
  const judge = (...updates: ResolvingUpdate[]) => resolveCommand({ command, updates });

  describe('a fill together with a refused cancel', () => {
    it('is a refusal where the platform has shown fills with the pending word', () => {
      expect(judge(pending(6), pending(7, '2'), works(8, '5'))).toMatchObject({
        result: 'rejected',
        evidence: { detail: { revision: 8 } },
      });
    });

    it('is none where the fill may have come before the pending word', () => {
      expect(judge(pending(6, '2'), works(7, '5'))).toMatchObject({ kind: 'reached' });
      expect(judge(pending(6), works(7, '2'), pending(8, '3'), works(9, '5'))).toMatchObject({ kind: 'reached' });
    });

    it('is none where a second cancel may have brought the pending word', () => {
      const updates = [pending(6), pending(7, '2'), works(8, '5')];
      const seen = { ...command, seenPendingAt: { revision: 6 } };
      expect(resolveCommand({ command: seen, updates, rivals: true })).toEqual({ kind: 'nothing' });
    });

    it('is none where a late view has the time from before the clock was set back', () => {
      const before = { ...command, baseline: { ...unversioned, updatedAt: '2026-11-21T14:31:42.037Z' } };
      const fills = { ...pending(6, '2').order, updatedAt: '2026-11-21T14:30:02.198Z' };
      const late = { ...works(7, '2').order, updatedAt: '2026-11-21T14:31:42.041Z' };
      const updates = [
        { ...pending(6), order: fills },
        { ...works(7, '2'), order: late },
      ];
      expect(resolveCommand({ command: before, updates })).toMatchObject({ kind: 'reached' });
      expect(resolveCommand({ command, updates })).toMatchObject({ result: 'rejected' });
    });

    it('is none where a correction had taken back more fills than there are now', () => {
      const corrected = { ...works(7, '1'), cause: 'correction' };
      const before = { ...command, baseline: { ...unversioned, cumQty: '4' } };
      const updates = [pending(6, '4'), corrected, works(8, '2')];
      expect(resolveCommand({ command: before, updates })).toMatchObject({ kind: 'reached' });
    });
  });

  it('judges an order of many fills by looking at each once', () => {
    let looks = 0;
    const counted = Array.from({ length: 2_000 }, (_, n) => {
      const update = works(n + 7, String(n + 1));
      const order = { ...update.order };
      const get = () => {
        looks += 1;
        return String(n + 1);
      };
      Object.defineProperty(order, 'cumQty', { get });
      return { ...update, order };
    });
    expect(judge(pending(6), ...counted)).toMatchObject({ kind: 'reached' });
    expect(looks).toBeLessThan(10 * counted.length);
  });
});

describe("issue: A cancel was shown as rejected because another program's was; then it cancelled the order.", () => {
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
      expect(resolveCommand({ command, updates: refusedInHand })).toEqual({ kind: 'nothing' });
      expect(resolveCommand({ command: { ...command, state: 'accepted' }, updates: refusedInHand })).toEqual({
        kind: 'nothing',
      });
    });

    it('is resolved by the end of the order', () => {
      const canceled = [...refusedInHand, updateAt(8, { status: 'canceled' }, theirs)];
      expect(resolveCommand({ command, updates: canceled })).toMatchObject({ result: 'applied' });
      const filled = [...refusedInHand, updateAt(8, { status: 'filled' }, theirs)];
      expect(resolveCommand({ command, updates: filled })).toMatchObject({ result: 'moot' });
    });

    it('is rejected by the same where the order is ours', () => {
      const ours = refusedInHand.map((update) => ({
        ...update,
        order: { ...update.order, origin: 'tidemark' as const },
      }));
      expect(resolveCommand({ command, updates: ours })).toMatchObject({ result: 'rejected' });
    });
  });

  describe('a cancel of an order that somebody else placed', () => {
    it('is rejected where the answer of the platform named the version at which it was in hand', () => {
      const theirs: Order = { ...predictionOrder, origin: 'external' };
      const accepted = { state: 'accepted', seenPendingAt: { revision: 5, sourceVersion: 60n } } as const;
      const updates = [
        updateAt(6, { pendingAction: 'cancel' }, theirs),
        updateAt(7, { rejectText: 'too late' }, theirs),
      ];
      expect(resolveCommand({ command: commandOf(cancelOf(theirs), accepted), updates })).toMatchObject({
        result: 'rejected',
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
});

describe('issue: The second of two cancels was shown as rejected, and the order was cancelled all the same.', () => {
  /**
   * Met by seed 641 of the simulator: two callers cancel one order. The venue refused the first
   * cancel before the second had left; the second, then accepted, was told that it was rejected,
   * and the order was canceled all the same.
   */
  describe('a command whose order had another one pending before it was sent', () => {
    const sentMs = Date.parse('2026-11-21T14:30:00Z');
    const accepted = (request: Parameters<typeof commandOf>[0]) => {
      const command = commandOf(request);
      const attempts = command.attempts.map((attempt) => ({
        ...attempt,
        state: 'accepted' as const,
        sendingAtMs: sentMs,
      }));
      return { ...command, state: 'accepted' as const, attempts };
    };
    const seen = (revision: number, over: Parameters<typeof updateAt>[1], afterMs: number) => ({
      ...updateAt(revision, over),
      observedAtMs: sentMs + afterMs,
    });

    it.each([
      ['cancel', cancelOf(predictionOrder)],
      ['replace', replaceOf({ price: '0.44' })],
    ] as const)('is not rejected by the answer to that one (%s)', (pendingAction, request) => {
      const command = accepted(request);
      const others = [seen(6, { pendingAction }, -400), seen(7, { rejectText: 'no' }, -300)];
      expect(resolveCommand({ command, updates: others })).toEqual({ kind: 'nothing' });
      const own = seen(8, { pendingAction }, 100);
      expect(resolveCommand({ command, updates: [...others, own] })).toMatchObject({
        kind: 'reached',
        at: { revision: 8 },
      });
      const refused = seen(9, { rejectText: 'too late' }, 200);
      expect(resolveCommand({ command, updates: [...others, own, refused] })).toMatchObject({ result: 'rejected' });
    });
  });
});
