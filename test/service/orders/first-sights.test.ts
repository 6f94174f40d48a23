import { describe, expect, it, vi } from 'vitest';
import type { OrderView } from '../../../src/domain/order.ts';
import { instantAt, predictionView } from '../../support/orders/arbitrary-orders.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { fold, observe } from '../../support/orders/observe.ts';

/** The first event of an order. */
function firstOf(order: number, over: Partial<OrderView> = {}): OrderView {
  return orderAt(order, 0, { status: 'pending_new', statusRaw: 'PENDING_NEW', ...over });
}

const bet = (over: Partial<OrderView>) => observe({ ...predictionView, ...over }, { sourceVersion: 1n });

async function firstSightRig(headCacheCount = 20) {
  const rig = await ingestRig(1, { headCacheCount, batchMaxCount: 3 });
  const reads = vi.spyOn(rig.database, 'readHeads');
  const applied = vi.spyOn(rig.database, 'applyBatch');
  rig.ingest.begin(rig.hold);
  return Object.assign(rig, {
    reads: () => reads.mock.calls.map(([keys]) => keys),
    batches: () => applied.mock.calls.length,
    revisionsOf: (key: string) => rig.database.log.filter((row) => row.key === key).map(({ revision }) => revision),
  });
}

/** One whose order 1 is stored at its second revision, and has left the cache. */
async function forgottenRig() {
  const rig = await firstSightRig(1);
  const views = [firstOf(1), orderAt(1, 2)].map((view) => observe(view));
  for (const view of views) rig.offer(view);
  for (let order = 2; order < 8; order += 1) rig.offer(observe(firstOf(order)));
  await rig.clock.advance(1_000);
  return Object.assign(rig, { views, before: { batches: rig.batches(), reads: rig.reads().length } });
}

describe('the first event of an order', () => {
  it('is committed without a look, and what follows it in the batch as well', async () => {
    const rig = await firstSightRig();
    rig.offer(observe(firstOf(1)));
    rig.offer(observe(orderAt(1, 0, { updatedAt: instantAt(1) })));
    rig.offer(bet({ status: 'pending_new', statusRaw: 'pending_new' }));
    await rig.clock.advance(1_000);
    expect(rig.results).toEqual(['applied', 'applied', 'applied']);
    expect(rig.reads()).toEqual([]);
  });

  it.each([
    ['shows the order at work', observe(orderAt(1, 0))],
    ['shows a fill', observe(firstOf(1, { cumQty: '1' }))],
    ['is a row of a list', observe(firstOf(1), { cause: 'snapshot' })],
    ['is an answer to a write', observe(firstOf(1), { cause: 'reply' })],
    ['is a prediction at work, whatever its version', bet({ status: 'new' })],
  ])('is no such event where it %s: then the order is looked up', async (_, observation) => {
    const rig = await firstSightRig();
    rig.offer(observation);
    await rig.clock.advance(1_000);
    expect(rig.reads()).toHaveLength(1);
    expect(rig.batches()).toBe(1);
  });

  it('is looked up where another entry of its order comes before it in the batch', async () => {
    const rig = await forgottenRig();
    rig.offer(observe(orderAt(1, 3)));
    rig.offer(observe(firstOf(1)));
    await rig.clock.advance(1_000);
    expect(rig.database.refusals).toBe(0);
    expect(rig.revisionsOf('account:ord-1')).toEqual([1, 2, 3]);
  });

  it('costs one refused batch where its order is stored, without a rest, and changes nothing', async () => {
    const rig = await forgottenRig();
    rig.offer(observe(firstOf(1)));
    // Less than the shortest rest after a failure.
    await rig.clock.advance(20);
    expect(rig.results).toHaveLength(9);
    expect(['duplicate', 'stale']).toContain(rig.results.at(-1));
    expect(rig.database.refusals).toBe(1);
    expect(rig.reads().slice(rig.before.reads)).toEqual([['account:ord-1']]);
    expect(rig.revisionsOf('account:ord-1')).toEqual([1, 2]);
    expect(JSON.parse(rig.database.heads.get('account:ord-1')?.state ?? '')).toEqual(fold(rig.views).head.order);
    expect(rig.ingest.trouble).toBeUndefined();
  });

  it('is trusted again after a commit, and not before', async () => {
    const rig = await forgottenRig();
    rig.offer(observe(firstOf(1)));
    for (let order = 10; order < 16; order += 1) rig.offer(observe(firstOf(order)));
    await rig.clock.advance(1_000);
    const reads = rig.reads().slice(rig.before.reads).flat();
    expect(reads).toContain('account:ord-1');
    expect(rig.database.violations).toEqual([]);
    rig.offer(observe(firstOf(20)));
    await rig.clock.advance(1_000);
    expect(rig.reads().flat()).not.toContain('account:ord-20');
  });

  it('is not what was wrong where its batch is refused again: that is a fault, with a rest behind each try', async () => {
    const rig = await firstSightRig();
    const triesAtMs: number[] = [];
    rig.database.applyBatch = async () => {
      triesAtMs.push(rig.clock.atMs);
      return { kind: 'retry', code: 'TM003' };
    };
    rig.offer(observe(firstOf(1)));
    await rig.clock.advance(1_000);
    const [first = 0, second = 0, third = 0] = triesAtMs;
    expect(second - first).toBeLessThan(5);
    expect(third - second).toBeGreaterThanOrEqual(5);
    expect(rig.ingest.trouble).toContain('TM003');
  });

  it('asks for the next order under an id that is given again', async () => {
    const rig = await firstSightRig(1);
    const end = { status: 'canceled', statusRaw: 'CANCELED', leavesQty: '0', createdAt: instantAt(0) } as const;
    rig.offer(observe(firstOf(1, { createdAt: instantAt(0) })));
    rig.offer(observe(orderAt(1, 2, end)));
    for (let order = 2; order < 8; order += 1) rig.offer(observe(orderAt(order, 2, end)));
    await rig.clock.advance(1_000);
    const doubts: unknown[] = [];
    rig.offer(
      observe(firstOf(1, { clOrdId: 'client-2', createdAt: instantAt(60), updatedAt: instantAt(60) }), {
        onDoubt: (_, doubt, revision) => doubts.push([doubt, revision]),
      }),
    );
    await rig.clock.advance(1_000);
    expect(rig.database.refusals).toBe(1);
    expect(doubts).toEqual([['reused', 2]]);
  });

  it('changes nothing where the stored state cannot be read: it is kept, and the order is asked for', async () => {
    const rig = await forgottenRig();
    rig.database.damaged.add('account:ord-1');
    rig.offer(observe(firstOf(1)));
    await rig.clock.advance(1_000);
    expect(rig.database.deadLetters).toMatchObject([{ orderId: 'ord-1', reason: 'state_unreadable' }]);
    expect(rig.revisionsOf('account:ord-1')).toEqual([1, 2]);
  });

  it('keeps the order with the account that it was first seen in', async () => {
    const rig = await forgottenRig();
    rig.offer(observe(firstOf(1, { accountId: 'another' })));
    await rig.clock.advance(1_000);
    expect(rig.results.at(-1)).toBe('conflict');
    expect(rig.database.heads.get('account:ord-1')?.accountId).toBe('acct-1');
  });

  it('is bound to the attempt whose reference it shows', async () => {
    const rig = await firstSightRig();
    const attemptId = 'tm-01a8f9a0-0000-7000-8000-000000000001';
    const binding = { commandId: 'command-1', stream: 'account', accountId: 'acct-1', side: 'buy' } as const;
    rig.database.attempts.set(attemptId, binding);
    rig.offer(observe(firstOf(1, { clOrdId: attemptId })));
    await rig.clock.advance(1_000);
    expect(rig.reads()).toEqual([]);
    expect(rig.database.bindingsOf('account:ord-1')).toMatchObject([{ attemptId, commandId: 'command-1' }]);
    expect(JSON.parse(rig.database.heads.get('account:ord-1')?.state ?? '')).toMatchObject({ origin: 'tidemark' });
  });
});
