import { describe, expect, it } from 'vitest';
import type { Order } from '../../../src/domain/order.ts';
import { resolveCommand } from '../../../src/domain/resolve-command.ts';
import {
  attemptOf,
  boundTo,
  commandOf,
  equityOrder,
  placeEquity,
  placePrediction,
  predictionOrder,
  updateAt,
} from '../../support/commands/resolving.ts';

const unknown = commandOf(placePrediction);
const { orderId } = predictionOrder;

describe('an unknown place', () => {
  it('is applied once the venue has an order that carries one of its attempt ids, with account and side as ours', () => {
    expect(resolveCommand({ command: unknown, updates: [updateAt(1)], bound: [boundTo(unknown)] })).toMatchObject({
      kind: 'verdict',
      result: 'applied',
      because: 'landed',
      orderId,
      evidence: {
        kind: 'update',
        code: 'landed',
        attemptId: 'tm-1',
        detail: { orderId, matches: true, revision: 1, status: 'new' },
      },
    });
  });

  it.each([
    ['applied', { status: 'new' }],
    ['applied', { status: 'partially_filled', cumQty: '1' }],
    ['applied', { status: 'filled', cumQty: '10' }],
    ['applied', { status: 'canceled' }],
    ['applied', { status: 'expired' }],
    ['applied', { status: 'replaced' }],
    ['applied', { status: 'done_for_day' }],
    ['applied', { status: 'suspended' }],
    ['applied', { status: 'pending_new', cumQty: '1' }],
    ['applied', { status: 'unknown', cumQty: '1' }],
    ['applied', { status: 'rejected', cumQty: '1' }],
    ['applied', { status: 'pending_new', cumQty: '1', certainty: 'unknown_gap' }],
    ['accepted', { status: 'pending_new' }],
    ['accepted', { status: 'unknown' }],
    ['accepted', { status: 'new', certainty: 'unknown_gap' }],
    ['accepted', { status: 'rejected', certainty: 'unknown_store_lost' }],
    ['rejected', { status: 'rejected' }],
  ] as const)('is %s by an order that is %o', (result, over) => {
    const resolving = { command: unknown, updates: [updateAt(1, over)], bound: [boundTo(unknown)] };
    expect(resolveCommand(resolving)).toMatchObject({ kind: 'verdict', result, orderId });
  });

  it('is bound to an order of which nothing but its reference is known', () => {
    expect(resolveCommand({ command: unknown, updates: [], bound: [boundTo(unknown)] })).toMatchObject({
      result: 'accepted',
      because: 'landed',
    });
  });

  it('is rejected for the reason that the venue has recorded', () => {
    const order = updateAt(1, { status: 'rejected', rejectReason: 'RISK', rejectText: 'insufficient buying power' });
    expect(resolveCommand({ command: unknown, updates: [order], bound: [boundTo(unknown)] })).toMatchObject({
      because: 'venue_refused',
      reason: { code: 'RISK', message: 'insufficient buying power' },
      evidence: { code: 'venue_refused', attemptId: 'tm-1' },
    });
  });

  it('whose order is bound is resolved by what the venue makes of it, and by nothing before', () => {
    const command = commandOf(placePrediction, { state: 'accepted', orderId });
    const resolve = (...updates: ReturnType<typeof updateAt>[]) =>
      resolveCommand({ command, updates, bound: [boundTo(command)] });
    const pending = updateAt(1, { status: 'pending_new' });
    expect(resolve(pending)).toEqual({ kind: 'nothing' });
    expect(resolve(pending, updateAt(2))).toMatchObject({ result: 'applied', evidence: { detail: { revision: 2 } } });
    expect(resolve(updateAt(2, { status: 'rejected' }), pending)).toMatchObject({
      result: 'rejected',
      because: 'venue_refused',
    });
    expect(resolve(updateAt(3, { status: 'rejected' }), updateAt(2), pending)).toMatchObject({ result: 'applied' });
  });

  it('has landed also where the order has other terms by now: that only alarms, by name', () => {
    const order = updateAt(1, {
      quantity: '12',
      price: '0.5',
      instrument: { ...predictionOrder.instrument, outcome: 'NO' },
    });
    expect(resolveCommand({ command: unknown, updates: [order], bound: [boundTo(unknown)] })).toMatchObject({
      result: 'applied',
      differs: ['outcome', 'quantity', 'price'],
    });
    const same = resolveCommand({ command: unknown, updates: [updateAt(1)], bound: [boundTo(unknown)] });
    expect(same).not.toHaveProperty('differs');
  });

  const legs = [{ symbol: 'AAPL261218C00200000', side: 'BUY', ratioQty: '1' }];
  const stops = {
    account: { ...placeEquity, terms: { ...placeEquity.terms, stopPrice: '190', legs } },
    prediction: {
      ...placePrediction,
      terms: { ...placePrediction.terms, stopPx: '0.3', expireTime: '2026-12-01T00:00:00Z' },
    },
  };
  const asAsked = {
    account: {
      ...equityOrder,
      stopPrice: '190',
      instrument: { ...equityOrder.instrument, legs: legs.map((leg) => ({ ...leg, side: 'buy' })) },
    },
    prediction: { ...predictionOrder, stopPrice: '0.3', expireTime: '2026-12-01T01:00:00+01:00' },
  };

  it.each([
    ['account', {}, []],
    ['account', { instrument: { ...equityOrder.instrument, symbol: 'BRK.B' } }, ['symbol']],
    ['account', { side: 'buy_to_cover' }, ['side']],
    ['account', { quantity: '9' }, ['quantity']],
    ['account', { orderType: 'market' }, ['orderType']],
    ['account', { timeInForce: 'gtc' }, ['timeInForce']],
    ['account', { price: '191.4' }, ['price']],
    ['account', { stopPrice: '189' }, ['stopPrice']],
    ['account', { instrument: { ...equityOrder.instrument, legs: [...legs, ...legs] } }, ['legs']],
    ['prediction', {}, []],
    ['prediction', { instrument: { ...predictionOrder.instrument, outcome: 'NO' } }, ['outcome']],
    ['prediction', { quantity: '9' }, ['quantity']],
    ['prediction', { orderType: 'market' }, ['orderType']],
    ['prediction', { timeInForce: 'day' }, ['timeInForce']],
    ['prediction', { price: '0.5' }, ['price']],
    ['prediction', { stopPrice: '0.2' }, ['stopPrice']],
    ['prediction', { expireTime: '2026-12-02T00:00:00Z' }, ['expireTime']],
  ] as const)('of the %s stream names the terms in which its order differs: %o', (stream, over, differs) => {
    const command = commandOf(stops[stream]);
    const update = updateAt(1, over as Partial<Order>, asAsked[stream]);
    const found = resolveCommand({
      command,
      updates: [update],
      bound: [boundTo(command, { orderId: update.order.orderId })],
    });
    expect('differs' in found ? found.differs : []).toEqual(differs);
  });

  it('knows the words of account orders as the orders have them', () => {
    const command = commandOf(placeEquity);
    const bound = [boundTo(command, { orderId: equityOrder.orderId })];
    expect(resolveCommand({ command, updates: [updateAt(1, {}, equityOrder)], bound })).not.toHaveProperty('differs');
    const other = updateAt(1, { timeInForce: 'gtc' }, equityOrder);
    expect(resolveCommand({ command, updates: [other], bound })).toMatchObject({ differs: ['timeInForce'] });
    const silent = updateAt(1, { timeInForce: 'unknown', orderType: 'unknown' }, equityOrder);
    expect(resolveCommand({ command, updates: [silent], bound })).not.toHaveProperty('differs');
  });

  it('is a conflict where account or side of that order are not ours, for a person to decide', () => {
    const bound = [boundTo(unknown, { matches: false })];
    expect(resolveCommand({ command: unknown, updates: [updateAt(1)], bound })).toMatchObject({
      result: 'conflict',
      event: 'verdict_conflict',
      because: 'other_identity',
      reason: { code: 'OTHER_IDENTITY' },
    });
  });

  it('is applied where beside a foreign order one of ours is there too', () => {
    const bound = [boundTo(unknown, { orderId: 'a', matches: false }), boundTo(unknown)];
    expect(resolveCommand({ command: unknown, updates: [updateAt(1)], bound })).toMatchObject({
      result: 'applied',
      orderId,
    });
  });

  it('is never bound by equal terms', () => {
    expect(resolveCommand({ command: unknown, updates: [updateAt(1)], bound: [] })).toEqual({ kind: 'nothing' });
    expect(resolveCommand({ command: unknown, updates: [updateAt(1)] })).toEqual({ kind: 'nothing' });
  });

  it('is never bound to an order of another command', () => {
    const bound = [boundTo(unknown, { commandId: 'another' })];
    expect(resolveCommand({ command: unknown, updates: [], bound })).toEqual({ kind: 'nothing' });
  });

  it('is resolved by the same rule while it is in flight, and when it was accepted', () => {
    for (const state of ['open', 'accepted'] as const) {
      const command = commandOf(placePrediction, { state });
      expect(resolveCommand({ command, updates: [updateAt(1)], bound: [boundTo(command)] })).toMatchObject({
        result: 'applied',
      });
    }
  });
});

describe('an order of a place that is over', () => {
  it('has landed late where the platform said that nothing was sent, or refused it', () => {
    for (const state of ['not_sent', 'refused'] as const) {
      const command = commandOf(placePrediction, { state, attempts: [attemptOf(state)] });
      const resolving = { command, updates: [updateAt(1)], bound: [boundTo(command)] };
      expect(resolveCommand(resolving)).toMatchObject({ result: 'applied', event: 'bound_denied' });
    }
  });

  it('has landed late where an earlier attempt was not sent and a later one is under way', () => {
    const command = commandOf(placePrediction, {
      state: 'open',
      attempts: [attemptOf('not_sent'), attemptOf('sending', 2)],
    });
    const only = { command, bound: [boundTo(command)] };
    expect(resolveCommand({ ...only, updates: [updateAt(1)] })).toMatchObject({ event: 'bound_denied' });
    expect(resolveCommand({ ...only, updates: [] })).toMatchObject({ event: 'bound_undecided_denied' });
    expect(resolveCommand({ ...only, updates: [updateAt(1, { status: 'rejected' })] })).toMatchObject({
      event: 'bound_rejected_denied',
    });
    const second = boundTo(command, { attemptId: 'tm-2', orderId: 'z' });
    expect(resolveCommand({ command, updates: [], bound: [boundTo(command), second] })).toMatchObject({ orderId: 'z' });
    expect(resolveCommand({ command, updates: [], bound: [second] })).toMatchObject({ event: 'bound_undecided' });
  });

  it('leaves a rejected place rejected while it is rejected itself, or nobody has accepted it', () => {
    const command = commandOf(placeEquity, { state: 'rejected', attempts: [attemptOf('rejected')] });
    const bound = [boundTo(command, { orderId: equityOrder.orderId })];
    for (const status of ['rejected', 'pending_new', 'unknown'] as const)
      expect(resolveCommand({ command, updates: [updateAt(1, { status }, equityOrder)], bound })).toEqual({
        kind: 'nothing',
      });
    expect(resolveCommand({ command, updates: [], bound })).toEqual({ kind: 'nothing' });
    for (const over of [{ status: 'new' }, { status: 'rejected', cumQty: '1' }] as const)
      expect(resolveCommand({ command, updates: [updateAt(1, over, equityOrder)], bound })).toMatchObject({
        event: 'bound',
      });
  });

  it('has landed late where a person said rejected, once it is there; of one that was in sight, once the venue has it', () => {
    const unseen = commandOf(placeEquity, { state: 'rejected' });
    const bound = [boundTo(unseen, { orderId: equityOrder.orderId })];
    const pending = updateAt(1, { status: 'pending_new' }, equityOrder);
    expect(resolveCommand({ command: unseen, updates: [pending], bound })).toMatchObject({ event: 'bound_undecided' });
    expect(
      resolveCommand({ command: unseen, updates: [updateAt(1, { status: 'rejected' }, equityOrder)], bound }),
    ).toEqual({
      kind: 'nothing',
    });
    const { orderId: inSight } = equityOrder;
    const seen = commandOf(placeEquity, { state: 'rejected', orderId: inSight });
    expect(resolveCommand({ command: seen, updates: [pending], bound })).toEqual({ kind: 'nothing' });
    expect(resolveCommand({ command: seen, updates: [pending, updateAt(2, {}, equityOrder)], bound })).toMatchObject({
      event: 'bound',
    });
  });

  it('was taken by the venue if any revision says so, in whatever order they come', () => {
    const command = commandOf(placeEquity, { state: 'rejected', attempts: [attemptOf('rejected')] });
    const bound = [boundTo(command, { orderId: equityOrder.orderId })];
    const updates = [updateAt(2, { status: 'rejected' }, equityOrder), updateAt(1, { status: 'new' }, equityOrder)];
    expect(resolveCommand({ command, updates, bound })).toMatchObject({ event: 'bound' });
    expect(resolveCommand({ command, updates: updates.toReversed(), bound })).toMatchObject({ event: 'bound' });
  });

  it.each(['applied', 'accepted', 'rejected'] as const)(
    'says nothing new of a place that is %s by it, but a second one is told',
    (state) => {
      const command = commandOf(placePrediction, { state, orderId });
      const shown = updateAt(
        1,
        state === 'applied' ? {} : { status: state === 'accepted' ? 'pending_new' : 'rejected' },
      );
      expect(resolveCommand({ command, updates: [shown], bound: [boundTo(command)] })).toEqual({ kind: 'nothing' });
      const bound = [boundTo(command), boundTo(command, { orderId: 'another' })];
      expect(resolveCommand({ command, updates: [], bound })).toMatchObject({
        kind: 'second_order',
        orderId: 'another',
        evidence: { code: 'second_order', detail: { appliedAs: orderId } },
      });
    },
  );

  it('is its successor where the elder was replaced, and no alarm, whichever of the two came first', () => {
    const command = commandOf(placePrediction, { state: 'applied', orderId });
    const bound = [boundTo(command), boundTo(command, { orderId: 'another' })];
    const replaced = updateAt(2, { status: 'replaced' });
    const next = updateAt(1, { orderId: 'another' });
    expect(resolveCommand({ command, updates: [replaced, next], bound })).toMatchObject({
      kind: 'successor',
      orderId: 'another',
      evidence: { code: 'successor', detail: { appliedAs: orderId } },
    });
    const younger = commandOf(placePrediction, { state: 'applied', orderId: 'another' });
    expect(resolveCommand({ command: younger, updates: [replaced, next], bound })).toEqual({ kind: 'nothing' });
    const both = resolveCommand({ command: commandOf(placePrediction), updates: [replaced, next], bound });
    expect(both).toMatchObject({ result: 'applied', orderId: 'another' });
    const third = boundTo(command, { orderId: 'third' });
    expect(resolveCommand({ command, updates: [replaced, next], bound: [...bound, third] })).toMatchObject({
      kind: 'second_order',
    });
  });

  it('leaves a conflict to a person', () => {
    const command = commandOf(placePrediction, { state: 'conflict' });
    expect(resolveCommand({ command, updates: [], bound: [boundTo(command)] })).toEqual({ kind: 'nothing' });
  });

  it('that is foreign does not touch a command that is resolved', () => {
    const command = commandOf(placePrediction, { state: 'not_sent', attempts: [attemptOf('not_sent')] });
    expect(resolveCommand({ command, updates: [], bound: [boundTo(command, { matches: false })] })).toEqual({
      kind: 'nothing',
    });
  });
});
