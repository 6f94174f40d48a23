import { describe, expect, it } from 'vitest';
import type { Command } from '../../../src/domain/command.ts';
import type { Order } from '../../../src/domain/order.ts';
import { recomputeVerdict } from '../../../src/domain/recompute-verdict.ts';
import { resolveCommand } from '../../../src/domain/resolve-command.ts';
import type { BoundOrder, Resolving, ResolvingUpdate } from '../../../src/domain/resolving.ts';
import { commandOf, predictionOrder } from '../../support/commands/resolving.ts';

const stream = 'alpaca_paper' as const;
const request = { kind: 'replace', stream, accountId: 'acct-1', orderId: 'o-1', terms: { price: '192' } } as const;
const before: Order = { ...predictionOrder, stream, orderId: 'o-1', status: 'new', pendingAction: 'none' };
const command = commandOf(request, {
  state: 'unknown',
  orderId: 'o-1',
  baseline: { revision: 3, sourceEpoch: 0, status: 'new', working: before.working, cumQty: '0', pendingAction: 'none' },
});
const [attempt] = command.attempts;
if (attempt === undefined) throw new Error('the command has no attempt');
const bound: BoundOrder = {
  attemptId: attempt.attemptId,
  commandId: command.commandId,
  orderId: 'o-2',
  matches: true,
};

function update(revision: number, over: Partial<Order>): ResolvingUpdate {
  const order = { ...before, ...over, updatedAt: `2026-11-21T14:30:${10 + revision}Z` };
  return { revision, sourceEpoch: 0, cause: 'stream', order };
}

/** Of the order that the replace makes. */
const made = (over: Partial<Order>, revision = 1) =>
  update(revision, { orderId: 'o-2', replaces: 'o-1', commandId: command.commandId, ...over });
const resolve = (updates: readonly ResolvingUpdate[], more: Partial<Resolving> = {}, over: Partial<Command> = {}) =>
  resolveCommand({ command: { ...command, ...over }, updates, ...more });
const pending = update(4, { pendingAction: 'replace' });

describe('a replace that makes a new order', () => {
  it('is applied, rejected or accepted as the order with its reference shows, and has its id', () => {
    const orderId = 'o-2';
    expect(resolve([made({ status: 'new' })], { bound: [bound] })).toMatchObject({ result: 'applied', orderId });
    expect(resolve([made({ status: 'rejected' })], { bound: [bound] })).toMatchObject({ result: 'rejected', orderId });
    expect(resolve([made({ status: 'pending_new' })], { bound: [bound] })).toMatchObject({
      result: 'accepted',
      orderId,
    });
  });

  it('is not resolved by the old order while no look has been made', () => {
    expect(resolve([])).toEqual({ kind: 'nothing' });
    expect(resolve([pending])).toEqual({ kind: 'nothing' });
    const look = { kind: 'look_for_successor', reference: attempt.attemptId };
    for (const status of ['filled', 'canceled', 'replaced'] as const)
      expect(resolve([update(4, { status })])).toMatchObject(look);
  });

  it('is moot once the order has ended, and a look has found none', () => {
    const none = { successor: {} };
    expect(resolve([update(4, { status: 'filled' })], none)).toMatchObject({ result: 'moot', because: 'ended' });
    expect(resolve([update(4, {})], none)).toEqual({ kind: 'nothing' });
  });

  describe('issue: A replace was called rejected because of another request, and its order came later.', () => {
    it.each(['cancel', 'replace'] as const)('is not resolved by a pending %s that went away', (pendingAction) => {
      const updates = [update(4, { pendingAction }), update(5, {})];
      expect(resolve(updates)).toEqual({ kind: 'nothing' });
      expect(resolve(updates, { successor: {} })).toEqual({ kind: 'nothing' });
    });
  });

  it('waits for the order that a look has found, and for its write', () => {
    const ended = update(4, { status: 'replaced' });
    expect(resolve([ended], { successor: { orderId: 'o-2' } })).toEqual({ kind: 'nothing' });
    expect(resolve([ended], { successor: {} }, { state: 'open' })).toEqual({ kind: 'nothing' });
  });

  it('has landed late where its order is seen after all', () => {
    for (const state of ['moot', 'refused', 'rejected'] as const)
      expect(resolve([made({ status: 'new' })], { bound: [bound] }, { state })).toMatchObject({ event: 'bound' });
    const resolved = { state: 'applied', orderId: 'o-2' } as const;
    expect(resolve([made({ status: 'new' })], { bound: [bound] }, resolved)).toEqual({ kind: 'nothing' });
  });

  it('has the same verdict again from its evidence', () => {
    const finding = resolve([made({ status: 'new' })], { bound: [bound] });
    if (finding.kind !== 'verdict') throw new Error(finding.kind);
    const evidence = [{ ...finding.evidence, number: 1, atMs: 0 }];
    const applied = { ...command, state: 'applied', orderId: 'o-2' } as const;
    expect(recomputeVerdict(applied, evidence, [])).toEqual({ state: 'applied', because: 'landed', agrees: true });
  });
});
