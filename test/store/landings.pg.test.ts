import { describe, expect, it } from 'vitest';
import { fence, newPlace, unknown } from '../support/journal-fixtures.ts';
import { journalRig } from '../support/journal-rig.ts';
import { batch } from '../support/store-rig.ts';
import { storedOrder } from '../support/stored-orders.ts';

const outcomes = ['refused', 'not_sent', 'rejected', 'moot'] as const;

describe('orders of places that came to nothing', () => {
  it('are found page by page, however long ago that was, and none of places that are applied, open or others’', async () => {
    await using rig = await journalRig();
    const landed = [];
    for (const to of outcomes) landed.push(await unknown(rig.journal, newPlace(), { to, atMs: 1_000 }));
    const applied = await unknown(rig.journal, newPlace(), { to: 'applied', orderId: `of-applied` });
    const others = [applied, await unknown(rig.journal), await unknown(rig.journal, newPlace(), { to: 'refused' })];
    const orders = [...landed, ...others].map((command, i) => ({
      command,
      ...storedOrder({ orderId: `o-${i}`, stream: 'account' }),
    }));
    const bindings = orders.map(({ command: { commandId, attempts }, head }, i) => {
      const attemptId = attempts[0]?.attemptId ?? '';
      return { stream: 'account', orderId: head.orderId, attemptId, commandId, matches: i < orders.length - 1 } as const;
    });
    const heads = orders.map(({ head }) => head);
    const updates = orders.map(({ update }) => update);
    expect((await rig.store.applyBatch(batch(rig.epoch, 1, [], { heads, updates, bindings }))).kind).toBe('committed');
    const wanted = bindings
      .slice(0, outcomes.length)
      .map(({ attemptId, commandId, orderId, matches }) => ({ attemptId, commandId, orderId, matches }));
    const byCommand = (a: { commandId: string }, b: { commandId: string }) => (a.commandId < b.commandId ? -1 : 1);
    expect(await rig.journal.landings(fence.lane, undefined, 100)).toEqual({ bound: wanted.toSorted(byCommand) });
    const found = [];
    let after: string | undefined;
    do {
      const page = await rig.journal.landings(fence.lane, after, 2);
      expect(page.bound.length).toBeLessThanOrEqual(2);
      found.push(...page.bound);
      after = page.next;
    } while (after !== undefined);
    expect(found).toEqual(wanted.toSorted(byCommand));
    expect(await rig.journal.landings(7, undefined, 100)).toEqual({ bound: [] });
  });

  it('that are rejected, or not decided upon, agree with a place that was rejected', async () => {
    await using rig = await journalRig();
    const found = [];
    for (const [i, status] of ['rejected', 'pending_new', 'unknown', 'new'].entries()) {
      const command = await unknown(rig.journal, newPlace(), { to: 'rejected' });
      const { head, update } = storedOrder({ orderId: `o-${i}`, stream: 'account', status });
      const attemptId = command.attempts[0]?.attemptId ?? '';
      const row = { stream: 'account', orderId: `o-${i}`, attemptId, commandId: command.commandId, matches: true } as const;
      await rig.store.applyBatch(batch(rig.epoch, i + 1, [], { heads: [head], updates: [update], bindings: [row] }));
      if (status === 'new') found.push(row.orderId);
    }
    const { bound } = await rig.journal.landings(fence.lane, undefined, 100);
    expect(bound.map(({ orderId }) => orderId)).toEqual(found);
  });

  it('are looked up by indexes alone', async () => {
    await using rig = await journalRig();
    const { rows } = await rig.pool.query({
      text: "explain select command_id from commands where lane = 0 and kind = 'place' and order_id is null and settled_at is not null and command_id > $1 order by command_id limit 2000",
      values: ['00000000-0000-0000-0000-000000000000'],
    });
    expect(JSON.stringify(rows)).toContain('commands_came_to_nothing');
  });
});
