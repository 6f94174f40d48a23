import { describe, expect, it } from 'vitest';
import type { Order } from '../../../src/domain/order.ts';
import { resolveCommand } from '../../../src/domain/resolve-command.ts';
import type { ResolvingUpdate } from '../../../src/domain/resolving.ts';
import { baseline, commandOf, predictionOrder, replaceOf, updateAt } from '../../support/commands/resolving.ts';

const command = commandOf(replaceOf({ price: '0.5' }));
const pending = updateAt(6, { pendingAction: 'replace' });
const seventh = { revision: 7, sourceVersion: 70n };
const atNewPrice = { working: { quantity: '10', price: '0.5' } };
const atOtherPrice = { working: { quantity: '10', price: '0.6' } };
const resolve = (updates: readonly ResolvingUpdate[], over: Partial<typeof command> = {}) =>
  resolveCommand({ command: { ...command, ...over }, updates });
const nothing = { kind: 'nothing' };

describe('a replace', () => {
  it('has reached the platform once it is seen pending, and waits for the venue', () => {
    expect(resolve([pending])).toMatchObject({
      kind: 'reached',
      at: { revision: 6, sourceVersion: 60n },
      evidence: { code: 'seen_pending', detail: { sourceVersion: '60' } },
    });
    expect(resolve([pending], { seenPendingAt: { revision: 6, sourceVersion: 60n } })).toEqual(nothing);
  });

  it('is not concluded upon while it is pending, whatever works meanwhile', () => {
    expect(resolve([pending, updateAt(7, { ...atNewPrice, pendingAction: 'replace' })])).toMatchObject({
      kind: 'reached',
    });
  });

  it('is applied once the price or total that was asked for, and differs from the baseline, works', () => {
    expect(resolve([updateAt(6, atNewPrice)])).toMatchObject({ result: 'applied', because: 'terms_working' });
    const total = commandOf(replaceOf({ quantity: '12' }));
    const resolving = { command: total, updates: [updateAt(6, { working: { quantity: '12', price: '0.4' } })] };
    expect(resolveCommand(resolving)).toMatchObject({ result: 'applied' });
  });

  it('is applied also where the order is over by now', () => {
    for (const status of ['filled', 'canceled', 'expired'] as const)
      expect(resolve([updateAt(6, { ...atNewPrice, status })])).toMatchObject({ result: 'applied' });
  });

  it('is not applied by terms that were working before it', () => {
    const same = commandOf(replaceOf({ price: '0.4', timeInForce: 'day' }));
    expect(resolveCommand({ command: same, updates: [updateAt(6)] })).toEqual(nothing);
    const both = commandOf(replaceOf({ price: '0.4', quantity: '12' }));
    expect(resolveCommand({ command: both, updates: [updateAt(6)] })).toEqual(nothing);
  });

  it('is not proven by one new term beside an old one: an amend is granted whole', () => {
    const both = commandOf(replaceOf({ price: '0.5', quantity: '12' }));
    const half = updateAt(6, { working: { quantity: '12', price: '0.4' } });
    expect(resolveCommand({ command: both, updates: [half] })).toMatchObject({
      result: 'conflict',
      because: 'other_terms',
    });
    const neither = updateAt(6, { working: { quantity: '10', price: '0.6' } });
    expect(resolveCommand({ command: both, updates: [pending, { ...neither, ...seventh }] })).toMatchObject({
      result: 'conflict',
    });
    const further = updateAt(6, { working: { quantity: '12', price: '0.6' } });
    expect(resolveCommand({ command: both, updates: [further] })).toMatchObject({ result: 'applied' });
  });

  it('is moot once the order ended otherwise, after a look for a successor', () => {
    const ended = updateAt(6, { status: 'filled', clientOrderRef: 'ref-1' });
    expect(resolve([ended])).toEqual({
      kind: 'look_for_successor',
      orderId: predictionOrder.orderId,
      reference: 'ref-1',
    });
    expect(resolveCommand({ command, updates: [ended], successor: {} })).toMatchObject({
      result: 'moot',
      because: 'ended',
    });
    expect(resolveCommand({ command, updates: [ended], successor: { orderId: 'other' } })).toMatchObject({
      result: 'conflict',
      because: 'successor',
    });
  });

  it('is moot where the order ended with the replace still pending', () => {
    const ended = updateAt(7, { status: 'canceled', pendingAction: 'replace' });
    expect(resolveCommand({ command, updates: [pending, ended], successor: {} })).toMatchObject({ result: 'moot' });
  });

  it('is rejected once it was seen pending and the old terms work above that, with the recorded reason', () => {
    const refused = updateAt(7, { rejectReason: 'TOO_LATE', rejectText: 'More was filled meanwhile' });
    expect(resolve([pending, refused])).toMatchObject({
      result: 'rejected',
      because: 'venue_refused',
      reason: { code: 'TOO_LATE', message: 'More was filled meanwhile' },
    });
  });

  it('that was accepted was seen pending at the version of the reply', () => {
    const accepted = { state: 'accepted', seenPendingAt: { revision: 5, sourceVersion: 60n } } as const;
    expect(resolve([updateAt(7)], accepted)).toMatchObject({ result: 'rejected' });
  });

  it('is not rejected by what was true before it was seen pending, however late that is heard', () => {
    const accepted = { state: 'accepted', seenPendingAt: { revision: 5, sourceVersion: 70n } } as const;
    expect(resolve([updateAt(6, { cumQty: '2' })], accepted)).toEqual(nothing);
    expect(resolve([updateAt(7)], accepted)).toEqual(nothing);
  });

  it('is in no conflict with what others changed before it was seen pending', () => {
    const accepted = { state: 'accepted', seenPendingAt: { revision: 5, sourceVersion: 70n } } as const;
    expect(resolve([updateAt(6, atOtherPrice)], accepted)).toEqual(nothing);
    expect(resolve([updateAt(6, atOtherPrice), updateAt(8, atNewPrice)], accepted)).toMatchObject({
      result: 'applied',
    });
    expect(resolve([updateAt(6, atOtherPrice), updateAt(8, atOtherPrice)], accepted)).toMatchObject({
      result: 'conflict',
    });
  });

  it('is not rejected by old terms if it was never seen pending: fills raise the version too', () => {
    expect(resolve([updateAt(6, { cumQty: '1' }), updateAt(7, { cumQty: '5', status: 'partially_filled' })])).toEqual(
      nothing,
    );
  });

  it('is a conflict where neither the old terms nor the new ones work', () => {
    expect(resolve([updateAt(6, atOtherPrice)])).toMatchObject({ result: 'conflict', because: 'other_terms' });
    expect(resolve([pending, updateAt(7, atOtherPrice)])).toMatchObject({
      result: 'conflict',
      because: 'other_terms',
    });
  });

  it.each([{ timeInForce: 'day' }, { expireTime: '2026-12-31T00:00:00Z' }, { stopPx: '0.3' }])(
    'of terms that never show at work, %j, is rejected by a newly recorded reason, and else a conflict',
    (terms) => {
      const hidden = commandOf(replaceOf(terms));
      const judge = (over: Partial<Order>, before: object = {}) =>
        resolveCommand({
          command: { ...hidden, baseline: { ...baseline, ...before } },
          updates: [pending, { ...updateAt(7, over), sourceVersion: 61n }],
        });
      expect(judge({ rejectText: 'no' })).toMatchObject({ result: 'rejected', because: 'reason_recorded' });
      expect(judge({})).toMatchObject({ result: 'conflict', because: 'nothing_to_tell_by' });
      expect(judge({ rejectText: 'no' }, { rejectText: 'no' })).toMatchObject({ result: 'conflict' });
      expect(resolveCommand({ command: hidden, updates: [updateAt(6, { rejectText: 'no' })] })).toEqual(nothing);
    },
  );

  it('is judged only by what is above the baseline', () => {
    const old = [updateAt(5, atNewPrice), updateAt(4, { pendingAction: 'replace' }), updateAt(3, atOtherPrice)];
    expect(resolve(old)).toEqual(nothing);
    const older = { ...updateAt(6, atNewPrice), sourceVersion: 50n };
    expect(resolve([older])).toEqual(nothing);
  });

  it('compares versions above 2^53 exactly', () => {
    const at = (version: bigint, over: Partial<Order> = {}) => ({ ...updateAt(6, over), sourceVersion: version });
    const big = { ...baseline, sourceVersion: 9007199254740992n };
    const judge = (update: ResolvingUpdate, seen: bigint) =>
      resolveCommand({
        command: { ...command, baseline: big, seenPendingAt: { revision: 6, sourceVersion: seen } },
        updates: [update],
      });
    expect(judge(at(9007199254740993n), 9007199254740992n)).toMatchObject({ result: 'rejected' });
    expect(judge(at(9007199254740993n), 9007199254740993n)).toEqual(nothing);
    expect(judge(at(9007199254740992n, atNewPrice), 9007199254740992n)).toEqual(nothing);
  });

  it('is not judged by what the platform itself could not confirm', () => {
    for (const over of [{ certainty: 'unknown_gap' }, { certainty: 'unknown_unacked' }, { status: 'unknown' }] as const)
      expect(resolve([updateAt(6, { ...atNewPrice, ...over }), updateAt(7, { ...atOtherPrice, ...over })])).toEqual(
        nothing,
      );
  });

  it('is left to a person, and flagged, once the platform lost its store and versions began anew', () => {
    const reborn = { ...updateAt(7, atNewPrice), sourceEpoch: 1, sourceVersion: 2n };
    expect(resolve([pending, reborn])).toMatchObject({ kind: 'flagged', because: 'source_epoch_changed' });
    expect(resolve([updateAt(6, atNewPrice), reborn])).toMatchObject({ result: 'applied' });
  });

  it('is not told by the pending replace of somebody else that was there before it', () => {
    const rival = { ...baseline, pendingAction: 'replace' };
    expect(resolve([pending, updateAt(7)], { baseline: rival })).toEqual(nothing);
    expect(
      resolve([pending, updateAt(7), updateAt(8, { pendingAction: 'replace' }), updateAt(9)], { baseline: rival }),
    ).toMatchObject({
      result: 'rejected',
      evidence: { detail: { revision: 9 } },
    });
  });

  it('in flight is not rejected, nor in conflict, by what others do: its write may not have left', () => {
    expect(resolve([pending, updateAt(7)], { state: 'open' })).toEqual(nothing);
    expect(resolve([updateAt(6, atOtherPrice)], { state: 'open' })).toEqual(nothing);
    expect(resolve([updateAt(6, atNewPrice)], { state: 'open' })).toMatchObject({ result: 'applied' });
  });

  it('says nothing about pending cancels', () => {
    expect(resolve([pending, updateAt(7, { pendingAction: 'cancel' })])).toMatchObject({ kind: 'reached' });
    expect(resolve([updateAt(6, { ...atOtherPrice, pendingAction: 'cancel' })])).toEqual(nothing);
  });

  it('of an order that has ended is not applied by the submitted price, where no working one is shown any more', () => {
    const amended = { ...baseline, working: { quantity: '10', price: '0.6' } };
    const back = commandOf(replaceOf({ price: '0.4' }), { baseline: amended });
    const ended = updateAt(6, { status: 'canceled', working: { quantity: '10' } });
    expect(resolveCommand({ command: back, updates: [ended], successor: {} })).toMatchObject({ result: 'moot' });
    const both = commandOf(replaceOf({ price: '0.4', quantity: '12' }), { baseline: amended });
    const asked = updateAt(6, { status: 'canceled', working: { quantity: '12' } });
    expect(resolveCommand({ command: both, updates: [asked], successor: {} })).toMatchObject({ result: 'applied' });
  });

  it('takes the submitted price for the working one where the venue has not said', () => {
    const unacknowledged = { ...baseline, working: { quantity: '10' } };
    expect(resolve([updateAt(6, { working: { quantity: '10' } })], { baseline: unacknowledged })).toEqual(nothing);
    expect(resolve([updateAt(6)], { baseline: unacknowledged })).toEqual(nothing);
    expect(resolve([updateAt(6, atNewPrice)], { baseline: unacknowledged })).toMatchObject({ result: 'applied' });
  });

  it('that is resolved, or left to a person, is not judged again', () => {
    for (const state of ['applied', 'rejected', 'moot', 'refused', 'not_sent', 'conflict'] as const)
      expect(resolve([updateAt(6, atNewPrice)], { state })).toEqual(nothing);
  });
});
