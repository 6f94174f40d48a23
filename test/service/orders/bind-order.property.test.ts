import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Order, OrderView } from '../../../src/domain/order.ts';
import type { Binding } from '../../../src/store/orders/order-store.ts';
import { noDatabaseFaults } from '../../simulation/database-rows.ts';
import type { MemoryDatabase } from '../../simulation/world/memory-database.ts';
import { equityView } from '../../support/orders/arbitrary-orders.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

/**
 * What the reference of each order is worth: ours; ours by name with something else than was asked
 * for; one that only looks like ours; nothing to us.
 */
const kinds = ['ours', 'other_account', 'other_side', 'lookalike', 'foreign'] as const;
type Kind = (typeof kinds)[number];

const script = fc.record({
  orders: fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 6 }),
  views: fc.array(
    fc.record({
      order: fc.nat(5),
      step: fc.nat(9),
      /** It leaves the reference out, as a list or an event may. */
      bare: fc.boolean(),
      pauseMs: fc.constantFrom(0, 0, 0, 1, 5, 40),
      endTerm: fc.boolean(),
    }),
    { minLength: 1, maxLength: 50 },
  ),
});
const faults = fc.record({
  retry: fc.constantFrom(0, 0.2),
  lostBefore: fc.constantFrom(0, 0.15),
  orphan: fc.constantFrom(0, 0.15),
  lostAnswer: fc.constantFrom(0, 0.15),
  unreachable: fc.constantFrom(0, 0.2),
});

const referenceAt = (order: number, kind: Kind) => (kind === 'foreign' ? `desk-${order}` : `tm-${order}`);
function viewAt(order: number, step: number, kind: Kind, bare = false): OrderView {
  const { clOrdId: _none, ...view } = orderAt(order, step);
  return bare ? view : { ...view, clOrdId: referenceAt(order, kind) };
}

const commandOf = (order: number) => `command-${order}`;

function bindingOf(order: number, kind: Kind): Binding {
  return {
    commandId: commandOf(order),
    callerRef: `caller-${order}`,
    stream: 'account',
    accountId: kind === 'other_account' ? 'somebody-else' : equityView.accountId,
    side: kind === 'other_side' ? 'sell_short' : equityView.side,
  };
}

/**
 * Holds at any instant: an order that shows its reference is in
 * the database exactly with its binding.
 */
function checkTogether(database: MemoryDatabase, orders: readonly Kind[]): void {
  for (const [order, kind] of orders.entries()) {
    const head = database.heads.get(`account:ord-${order}`);
    const row = database.bindingsOf(`account:ord-${order}`)[0];
    const named = kind !== 'foreign' && kind !== 'lookalike';
    const state = head && (JSON.parse(head.state) as Order);
    expect(row !== undefined).toBe(state?.clOrdId !== undefined && named);
    if (state === undefined) continue;
    const { origin, commandId, callerRef } = state;
    if (kind === 'ours' && row !== undefined) {
      expect({ origin, commandId, callerRef }).toEqual({
        origin: 'tidemark',
        commandId: commandOf(order),
        callerRef: `caller-${order}`,
      });
    } else {
      expect({ origin, commandId, callerRef }).toEqual({
        origin: 'external',
        commandId: undefined,
        callerRef: undefined,
      });
    }
    if (row !== undefined)
      expect(row).toMatchObject({ commandId: commandOf(order), attemptId: `tm-${order}`, matches: kind === 'ours' });
  }
}

describe('orders that carry a reference of ours, over a database that fails at every step', () => {
  it('are bound with the first revision that shows it, however they come and are batched, and never without it', async () => {
    await fc.assert(
      fc.asyncProperty(script, faults, fc.nat(1_000_000), async ({ orders, views }, wrong, seed) => {
        const rig = await ingestRig(seed, { headCacheCount: 2, batchMaxCount: 5 });
        const { database } = rig;
        for (const [order, kind] of orders.entries())
          if (kind !== 'lookalike' && kind !== 'foreign') database.attempts.set(`tm-${order}`, bindingOf(order, kind));
        // Thrown from here it would be one more failure of the database.
        const parted: unknown[] = [];
        database.onCommit = () => {
          try {
            checkTogether(database, orders);
          } catch (error) {
            parted.push(error);
          }
        };
        database.faults = wrong;
        rig.ingest.begin(rig.hold);
        for (const { order, step, bare, pauseMs, endTerm } of views) {
          const kind = orders[order];
          if (kind !== undefined) rig.offer(observe(viewAt(order, step, kind, bare)));
          if (pauseMs > 0) await rig.clock.advance(pauseMs);
          if (endTerm && pauseMs === 40) await crash(rig);
        }
        database.faults = noDatabaseFaults;
        const settled = rig.ingest.committed();
        await rig.clock.advance(30_000);
        await settled;
        checkTogether(database, orders);
        expect(parted).toEqual([]);
        expect(database.violations).toEqual([]);
        for (const { rows } of rig.handed) {
          for (const { key, commandId, bound, payload } of rows) {
            const { order, changed } = JSON.parse(payload) as { order: Order; changed: string[] };
            // A row that is not ours but carries our reference is shown
            // once, so that a person hears of it at once.
            const shows = changed.includes('clOrdId') ? database.bindingsOf(key)[0] : undefined;
            expect(bound && { stream: 'account', ...bound }).toEqual(shows);
            expect(commandId).toBe(order.commandId ?? shows?.commandId);
            expect(changed.includes('commandId')).toBe(shows?.matches === true);
          }
        }
        const ended = rig.ingest.end();
        await rig.clock.advance(1000);
        await ended;
      }),
      { numRuns: 150 },
    );
  });

  it('are bound alike in every order of arrival', async () => {
    const steps = fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom(...kinds), fc.nat(6), fc.nat(1000), async (order, kind, shown, seed) => {
        const rig = await ingestRig(seed, { batchMaxCount: 2 });
        if (kind !== 'lookalike' && kind !== 'foreign') rig.database.attempts.set('tm-0', bindingOf(0, kind));
        rig.ingest.begin(rig.hold);
        for (const step of order) rig.offer(observe(viewAt(0, step, kind, shown < 6 && step !== shown)));
        const settled = rig.ingest.committed();
        await rig.clock.advance(1000);
        await settled;
        checkTogether(rig.database, [kind]);
        const ended = rig.ingest.end();
        await rig.clock.advance(1000);
        await ended;
      }),
      { numRuns: 60 },
    );
  });
});

/**
 * What was queued or in flight is forgotten here, and may commit all the same; the lane is taken
 * anew with an empty cache.
 */
async function crash(rig: Awaited<ReturnType<typeof ingestRig>>): Promise<void> {
  const ended = rig.ingest.end();
  await rig.clock.advance(200);
  await ended;
  const { faults: wrong } = rig.database;
  rig.database.faults = noDatabaseFaults;
  const acquired = rig.database.acquire(0, 'test', 0);
  await rig.clock.advance(100);
  rig.database.faults = wrong;
  const hold = await acquired;
  if (hold.kind !== 'held') throw new Error('the lane is not to be had');
  rig.lease.confirm(hold.epoch, rig.clock.monotonicMs());
  rig.ingest.begin(hold);
}
