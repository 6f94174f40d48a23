import { describe, expect, it } from 'vitest';
import { settleCommand } from '../../src/domain/settle-command.ts';
import {
  attemptOf,
  boundTo,
  commandOf,
  equityOrder,
  placeEquity,
  placePrediction,
  predictionOrder,
  updateAt,
} from '../support/settling.ts';

const unknown = commandOf(placePrediction);
const { orderId } = predictionOrder;

describe('an unknown place', () => {
  it('is applied once an order carries one of its attempt ids, with account, symbol and side as ours', () => {
    expect(settleCommand({ command: unknown, updates: [], bound: [boundTo(unknown)] })).toMatchObject({
      kind: 'verdict',
      outcome: 'applied',
      because: 'landed',
      orderId,
      evidence: { kind: 'update', code: 'landed', attemptId: 'tm-1', detail: { orderId, matches: true } },
    });
  });

  it.each(['pending_new', 'new', 'partially_filled', 'filled', 'canceled', 'expired', 'rejected', 'unknown'] as const)(
    'has landed whatever became of the order since: %s',
    (status) => {
      const settling = { command: unknown, updates: [updateAt(1, { status })], bound: [boundTo(unknown)] };
      expect(settleCommand(settling)).toMatchObject({ outcome: 'applied', because: 'landed' });
    },
  );

  it('has landed also where the order has other terms by now: that only alarms, by name', () => {
    const order = updateAt(1, { quantity: '12', price: '0.5', instrument: { ...predictionOrder.instrument, outcome: 'NO' } });
    expect(settleCommand({ command: unknown, updates: [order], bound: [boundTo(unknown)] })).toMatchObject({
      outcome: 'applied',
      differs: ['outcome', 'quantity', 'price'],
    });
    const same = settleCommand({ command: unknown, updates: [updateAt(1)], bound: [boundTo(unknown)] });
    expect(same).not.toHaveProperty('differs');
  });

  it('knows the words of account orders as the orders have them', () => {
    const command = commandOf(placeEquity);
    const bound = [boundTo(command, { orderId: equityOrder.orderId })];
    expect(settleCommand({ command, updates: [updateAt(1, {}, equityOrder)], bound })).not.toHaveProperty('differs');
    const other = updateAt(1, { timeInForce: 'gtc' }, equityOrder);
    expect(settleCommand({ command, updates: [other], bound })).toMatchObject({ differs: ['timeInForce'] });
  });

  it('is a conflict where account, symbol or side of that order are not ours, for a person to decide', () => {
    const bound = [boundTo(unknown, { matches: false })];
    expect(settleCommand({ command: unknown, updates: [updateAt(1)], bound })).toMatchObject({
      outcome: 'conflict',
      event: 'verdict_conflict',
      because: 'other_identity',
      reason: { code: 'OTHER_IDENTITY' },
    });
  });

  it('is applied where beside a foreign order one of ours is there too', () => {
    const bound = [boundTo(unknown, { orderId: 'a', matches: false }), boundTo(unknown)];
    expect(settleCommand({ command: unknown, updates: [], bound })).toMatchObject({ outcome: 'applied', orderId });
  });

  it('is never bound by equal terms', () => {
    expect(settleCommand({ command: unknown, updates: [updateAt(1)], bound: [] })).toEqual({ kind: 'nothing' });
    expect(settleCommand({ command: unknown, updates: [updateAt(1)] })).toEqual({ kind: 'nothing' });
  });

  it('is never bound to an order of another command', () => {
    const bound = [boundTo(unknown, { commandId: 'another' })];
    expect(settleCommand({ command: unknown, updates: [], bound })).toEqual({ kind: 'nothing' });
  });

  it('is settled by the same rule while it is in flight, and when it was accepted', () => {
    for (const state of ['open', 'accepted'] as const) {
      const command = commandOf(placePrediction, { state });
      expect(settleCommand({ command, updates: [], bound: [boundTo(command)] })).toMatchObject({ outcome: 'applied' });
    }
  });
});

describe('an order of a place that is over', () => {
  it('has landed late where the platform said that nothing was sent, or refused it', () => {
    for (const state of ['not_sent', 'refused'] as const) {
      const command = commandOf(placePrediction, { state, attempts: [attemptOf(state)] });
      const settling = { command, updates: [updateAt(1)], bound: [boundTo(command)] };
      expect(settleCommand(settling)).toMatchObject({ outcome: 'applied', event: 'bound_denied' });
    }
  });

  it('has landed late where an earlier attempt was not sent and a later one is under way', () => {
    const command = commandOf(placePrediction, { state: 'open', attempts: [attemptOf('not_sent'), attemptOf('sending', 2)] });
    expect(settleCommand({ command, updates: [], bound: [boundTo(command)] })).toMatchObject({ event: 'bound_denied' });
    const second = boundTo(command, { attemptId: 'tm-2', orderId: 'z' });
    expect(settleCommand({ command, updates: [], bound: [boundTo(command), second] })).toMatchObject({ orderId: 'z' });
    expect(settleCommand({ command, updates: [], bound: [second] })).toMatchObject({ event: 'bound_undecided' });
  });

  it('leaves a rejected place rejected while it is rejected itself, or nobody has accepted it', () => {
    const command = commandOf(placeEquity, { state: 'rejected', attempts: [attemptOf('rejected')] });
    const bound = [boundTo(command, { orderId: equityOrder.orderId })];
    for (const status of ['rejected', 'pending_new', 'unknown'] as const)
      expect(settleCommand({ command, updates: [updateAt(1, { status }, equityOrder)], bound })).toEqual({ kind: 'nothing' });
    expect(settleCommand({ command, updates: [], bound })).toEqual({ kind: 'nothing' });
    for (const over of [{ status: 'new' }, { status: 'rejected', cumQty: '1' }] as const)
      expect(settleCommand({ command, updates: [updateAt(1, over, equityOrder)], bound })).toMatchObject({ event: 'bound' });
  });

  it('judges by the newest revision of that order, in whatever order they come', () => {
    const command = commandOf(placeEquity, { state: 'rejected', attempts: [attemptOf('rejected')] });
    const bound = [boundTo(command, { orderId: equityOrder.orderId })];
    const updates = [updateAt(2, { status: 'rejected' }, equityOrder), updateAt(1, { status: 'new' }, equityOrder)];
    expect(settleCommand({ command, updates, bound })).toEqual({ kind: 'nothing' });
    expect(settleCommand({ command, updates: updates.toReversed(), bound })).toEqual({ kind: 'nothing' });
  });

  it('says nothing new of an applied place, but a second one is told', () => {
    const command = commandOf(placePrediction, { state: 'applied', orderId });
    expect(settleCommand({ command, updates: [updateAt(1)], bound: [boundTo(command)] })).toEqual({ kind: 'nothing' });
    const bound = [boundTo(command), boundTo(command, { orderId: 'another' })];
    expect(settleCommand({ command, updates: [], bound })).toMatchObject({
      kind: 'second_order',
      orderId: 'another',
      evidence: { code: 'second_order', detail: { appliedAs: orderId } },
    });
  });

  it('leaves a conflict to a person', () => {
    const command = commandOf(placePrediction, { state: 'conflict' });
    expect(settleCommand({ command, updates: [], bound: [boundTo(command)] })).toEqual({ kind: 'nothing' });
  });

  it('that is foreign does not touch a command that is settled', () => {
    const command = commandOf(placePrediction, { state: 'not_sent', attempts: [attemptOf('not_sent')] });
    expect(settleCommand({ command, updates: [], bound: [boundTo(command, { matches: false })] })).toEqual({ kind: 'nothing' });
  });
});
