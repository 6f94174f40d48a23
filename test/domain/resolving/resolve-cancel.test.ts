import { describe, expect, it } from 'vitest';
import { resolveCommand } from '../../../src/domain/resolve-command.ts';
import type { ResolvingUpdate } from '../../../src/domain/resolving.ts';
import {
  baseline,
  cancelOf,
  commandOf,
  equityOrder,
  predictionOrder,
  updateAt,
} from '../../support/commands/resolving.ts';

const command = commandOf(cancelOf(predictionOrder));
const pending = updateAt(6, { pendingAction: 'cancel' });
const resolve = (updates: readonly ResolvingUpdate[], over: Partial<typeof command> = {}) =>
  resolveCommand({ command: { ...command, ...over }, updates });
const nothing = { kind: 'nothing' };

describe('a cancel', () => {
  it('has reached the platform once it is seen pending', () => {
    expect(resolve([pending])).toMatchObject({ kind: 'reached', at: { revision: 6, sourceVersion: 60n } });
  });

  it('is applied once the order is canceled, filled in part or not', () => {
    expect(resolve([updateAt(6, { status: 'canceled' })])).toMatchObject({ result: 'applied', because: 'canceled' });
    expect(resolve([pending, updateAt(7, { status: 'canceled', cumQty: '3' })])).toMatchObject({ result: 'applied' });
  });

  it.each(['filled', 'expired', 'rejected', 'replaced'] as const)('is moot where the order was %s first', (status) => {
    expect(resolve([pending, updateAt(7, { status })])).toMatchObject({ result: 'moot', because: 'ended' });
  });

  it('is rejected once it was seen pending and the order works on with none pending, above that', () => {
    expect(resolve([pending, updateAt(7, { rejectText: 'too late' })])).toMatchObject({
      result: 'rejected',
      because: 'venue_refused',
      reason: { message: 'too late' },
    });
  });

  it('is not rejected by an order that works on, if it was never seen pending', () => {
    expect(resolve([updateAt(6), updateAt(7, { cumQty: '4', status: 'partially_filled' })])).toEqual(nothing);
  });

  it('is not rejected by what was true before it was seen pending, however late that is heard', () => {
    const accepted = { state: 'accepted', seenPendingAt: { revision: 5, sourceVersion: 70n } } as const;
    expect(resolve([updateAt(6, { cumQty: '2' })], accepted)).toEqual(nothing);
    expect(resolve([updateAt(8)], accepted)).toMatchObject({ result: 'rejected' });
  });

  it('that the platform refused is moot where one look finds the order ended, and says nothing of the place', () => {
    for (const status of ['filled', 'canceled', 'expired'] as const)
      expect(resolve([updateAt(6, { status })], { state: 'refused' })).toMatchObject({ result: 'moot' });
    expect(resolve([pending, updateAt(7)], { state: 'refused' })).toEqual(nothing);
    expect(resolve([], { state: 'refused' })).toEqual(nothing);
  });

  it('is not told by the pending cancel of somebody else that was there before it', () => {
    const rival = { baseline: { ...baseline, pendingAction: 'cancel' } };
    expect(resolve([pending, updateAt(7)], rival)).toEqual(nothing);
    expect(resolve([pending, updateAt(7, { status: 'canceled' })], rival)).toMatchObject({ result: 'applied' });
    const ours = [pending, updateAt(7), updateAt(8, { pendingAction: 'cancel' }), updateAt(9)];
    expect(resolve(ours, rival)).toMatchObject({ result: 'rejected', evidence: { detail: { revision: 9 } } });
  });

  it('is not rejected while a replace is pending: nothing says that it was answered', () => {
    expect(resolve([pending, updateAt(7, { pendingAction: 'replace' })])).toMatchObject({ kind: 'reached' });
  });

  it('in flight is not rejected by what others do, but an ended order ends it', () => {
    expect(resolve([pending, updateAt(7)], { state: 'open' })).toEqual(nothing);
    expect(resolve([updateAt(6, { status: 'canceled' })], { state: 'open' })).toMatchObject({ result: 'applied' });
  });

  it('is not judged by what the platform itself could not confirm', () => {
    expect(resolve([updateAt(6, { status: 'canceled', certainty: 'unknown_store_lost' })])).toEqual(nothing);
    expect(resolve([pending, updateAt(7, { status: 'unknown' })])).toMatchObject({ kind: 'reached' });
  });

  it('is not judged by what is not above the baseline', () => {
    expect(resolve([updateAt(5, { status: 'canceled' }), updateAt(4, { pendingAction: 'cancel' })])).toEqual(nothing);
  });

  it('is left to a person, and flagged, once the platform lost its store', () => {
    expect(resolve([{ ...updateAt(6, { status: 'canceled' }), sourceEpoch: 1 }])).toMatchObject({ kind: 'flagged' });
  });

  it('is not judged by an earlier source epoch than that of its baseline', () => {
    const reborn = { baseline: { ...baseline, sourceEpoch: 1 } };
    expect(resolve([updateAt(6, { status: 'canceled' })], reborn)).toEqual(nothing);
    expect(resolve([{ ...updateAt(6, { status: 'canceled' }), sourceEpoch: 1 }], reborn)).toMatchObject({
      result: 'applied',
    });
  });

  it('that is resolved, or left to a person, is not judged again', () => {
    for (const state of ['applied', 'rejected', 'moot', 'not_sent', 'conflict'] as const)
      expect(resolve([updateAt(6, { status: 'filled' })], { state })).toEqual(nothing);
  });
});

describe('a cancel of an account order, which has no versions', () => {
  const { sourceVersion: _none, ...unversioned } = baseline;
  const account = commandOf(cancelOf(equityOrder), { baseline: unversioned });
  const at = (revision: number, over: object = {}) => updateAt(revision, over, equityOrder);
  const pendingCancel = at(6, { pendingAction: 'cancel', statusRaw: 'PENDING_CANCEL' });

  it('follows PENDING_CANCEL to its end', () => {
    expect(resolveCommand({ command: account, updates: [pendingCancel] })).toMatchObject({
      kind: 'reached',
      at: { revision: 6 },
    });
    expect(resolveCommand({ command: account, updates: [pendingCancel, at(7, { status: 'canceled' })] })).toMatchObject(
      {
        result: 'applied',
      },
    );
    expect(resolveCommand({ command: account, updates: [pendingCancel, at(7)] })).toMatchObject({
      result: 'rejected',
    });
  });

  it('is not rejected by a view of the instant at which it was seen pending', () => {
    const same = at(7, { updatedAt: pendingCancel.order.updatedAt, cumQty: '1', status: 'partially_filled' });
    expect(resolveCommand({ command: account, updates: [pendingCancel, same] })).toMatchObject({ kind: 'reached' });
  });

  it('is not rejected by it either once that place was recorded', () => {
    const same = at(7, { updatedAt: pendingCancel.order.updatedAt, cumQty: '1', status: 'partially_filled' });
    const recorded = { ...account, seenPendingAt: { revision: 6 } };
    expect(resolveCommand({ command: recorded, updates: [pendingCancel, same] })).toEqual(nothing);
    expect(resolveCommand({ command: recorded, updates: [pendingCancel, same, at(8)] })).toMatchObject({
      result: 'rejected',
    });
  });

  it('is not rejected by a fill, which is told in the word of the status while the cancel is open', () => {
    const filled = (revision: number, cumQty: string) => at(revision, { cumQty, status: 'partially_filled' });
    const judge = (...updates: ResolvingUpdate[]) => resolveCommand({ command: account, updates });
    expect(judge(pendingCancel, filled(7, '4'), filled(8, '6'))).toMatchObject({ kind: 'reached' });
    expect(judge(pendingCancel, filled(7, '4'), at(8, { cumQty: '4', status: 'canceled' }))).toMatchObject({
      result: 'applied',
    });
    const richer = { ...filled(8, '4'), order: { ...filled(7, '4').order, venueOrderId: 'v-1' } };
    expect(judge(pendingCancel, filled(7, '4'), richer)).toMatchObject({ kind: 'reached' });
    expect(judge(pendingCancel, filled(7, '4'), filled(8, '4'))).toMatchObject({ result: 'rejected' });
    const refused = at(7, { cumQty: '4', status: 'partially_filled', rejectReason: 'TOO_LATE' });
    expect(judge(pendingCancel, refused)).toMatchObject({ result: 'rejected', reason: { code: 'TOO_LATE' } });
  });

  it('is not rejected by the news that the venue took the order', () => {
    const early = commandOf(cancelOf(equityOrder), { baseline: { ...unversioned, status: 'pending_new' } });
    const judge = (...updates: ResolvingUpdate[]) => resolveCommand({ command: early, updates });
    expect(judge(pendingCancel, at(7))).toMatchObject({ kind: 'reached' });
    expect(judge(pendingCancel, at(7), at(8, { status: 'canceled' }))).toMatchObject({ result: 'applied' });
    expect(judge(pendingCancel, at(7), at(8))).toMatchObject({ result: 'rejected' });
  });

  it('is not judged by revisions at or below the baseline', () => {
    expect(
      resolveCommand({ command: account, updates: [at(5, { status: 'canceled' }), at(4, { status: 'filled' })] }),
    ).toEqual(nothing);
  });
});

describe('issue: A cancel of an ended order stayed unknown once more was learnt of its end.', () => {
  // A list shows whose order it was, or another average: a new revision, and the same end.
  const ended = { ...command, state: 'unknown', baseline: { ...baseline, status: 'filled' } } as const;
  const learnt = updateAt(6, { status: 'filled', callerRef: 'desk-7' });
  const judge = (updates: readonly ResolvingUpdate[], state: typeof command.state = 'unknown') =>
    resolveCommand({ command: { ...ended, state }, updates, stillEnded: true });

  it('is moot by a read that shows the same end', () => {
    expect(judge([])).toMatchObject({ result: 'moot', because: 'ended' });
    expect(judge([learnt])).toMatchObject({ result: 'moot', because: 'ended' });
  });

  it('waits where the order has worked since, or the write may not have left', () => {
    expect(judge([updateAt(6)])).toEqual(nothing);
    expect(judge([learnt], 'open')).toEqual(nothing);
  });
});
