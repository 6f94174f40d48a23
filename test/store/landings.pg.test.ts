import { describe, expect, it } from 'vitest';
import { fence, newPlace, unknown } from '../support/commands/journal-fixtures.ts';
import { journalRig } from '../support/commands/journal-rig.ts';
import { batch } from '../support/orders/store-rig.ts';
import { storedOrder } from '../support/orders/stored-orders.ts';

const results = ['refused', 'not_sent', 'rejected', 'moot'] as const;

describe('orders of places that came to nothing', () => {
  it('are found page by page, however long ago that was, and none of places that are applied, open or others’', async () => {
    await using rig = await journalRig();
    const landed = [];
    for (const to of results) landed.push(await unknown(rig.journal, newPlace(), { to, atMs: 1_000 }));
    const applied = await unknown(rig.journal, newPlace(), { to: 'applied', orderId: `of-applied` });
    const others = [applied, await unknown(rig.journal), await unknown(rig.journal, newPlace(), { to: 'refused' })];
    const orders = [...landed, ...others].map((command, i) => ({
      command,
      ...storedOrder({ orderId: `o-${i}`, stream: 'account' }),
    }));
    const bindings = orders.map(({ command: { commandId, attempts }, head }, i) => {
      const attemptId = attempts[0]?.attemptId ?? '';
      return {
        stream: 'account',
        orderId: head.orderId,
        attemptId,
        commandId,
        matches: i < orders.length - 1,
      } as const;
    });
    const heads = orders.map(({ head }) => head);
    const updates = orders.map(({ update }) => update);
    expect((await rig.store.applyBatch(batch(rig.epoch, 1, [], { heads, updates, bindings }))).kind).toBe('committed');
    const wanted = bindings
      .slice(0, results.length)
      .map(({ attemptId, commandId, orderId, matches }) => ({ attemptId, commandId, orderId, matches }));
    const byCommand = (a: { commandId: string }, b: { commandId: string }) => (a.commandId < b.commandId ? -1 : 1);
    expect(await rig.journal.landings(fence.shard, undefined, 100)).toEqual({ bound: wanted.toSorted(byCommand) });
    const found = [];
    let after: string | undefined;
    do {
      const page = await rig.journal.landings(fence.shard, after, 2);
      expect(page.bound.length).toBeLessThanOrEqual(2);
      found.push(...page.bound);
      after = page.next;
    } while (after !== undefined);
    expect(found).toEqual(wanted.toSorted(byCommand));
    expect(await rig.journal.landings(7, undefined, 100)).toEqual({ bound: [] });
  });

  const shown = {
    refused: { status: 'rejected' },
    pending: { status: 'pending_new' },
    unknown: { status: 'unknown' },
    uncertain: { status: 'new', certainty: 'unknown_gap' },
    works: { status: 'new' },
    filled: { status: 'pending_new', cumQty: '1' },
  } as const;
  type Shown = keyof typeof shown;

  it.each([
    ['the platform answered so', 'rejected', 'answered', ['works', 'filled']],
    ['a person said so', 'rejected', 'said', ['pending', 'unknown', 'uncertain', 'works', 'filled']],
    ['a person said so with the order in sight', 'rejected', 'in sight', ['works', 'filled']],
    ['a person said so with the order in sight', 'moot', 'in sight', ['works', 'filled']],
    ['a person said so', 'moot', 'said', ['refused', 'pending', 'unknown', 'uncertain', 'works', 'filled']],
    ['nothing was sent', 'not_sent', 'said', ['refused', 'pending', 'unknown', 'uncertain', 'works', 'filled']],
  ] as const)('that agree with the result are left out: %s, %s', async (_why, to, how, expected) => {
    await using rig = await journalRig();
    const named = new Map<string, Shown>();
    for (const [i, name] of (Object.keys(shown) as Shown[]).entries()) {
      const orderId = `o-${i}`;
      const asked = newPlace();
      const attemptId = asked.attemptId ?? '';
      const attempt = how === 'answered' ? { attempt: { attemptId, from: 'sending', to: 'rejected' } as const } : {};
      const command = await unknown(rig.journal, asked, { to, ...attempt, ...(how === 'in sight' && { orderId }) });
      const references = { commandId: command.commandId };
      const { head, update } = storedOrder({ orderId, stream: 'account', references, ...shown[name] });
      const row = { stream: 'account', orderId, attemptId, commandId: command.commandId, matches: true } as const;
      await rig.store.applyBatch(batch(rig.epoch, i + 1, [], { heads: [head], updates: [update], bindings: [row] }));
      named.set(orderId, name);
    }
    const { bound } = await rig.journal.landings(fence.shard, undefined, 100);
    expect(bound.map(({ orderId }) => named.get(orderId)).toSorted()).toEqual(expected.toSorted());
  });

  it('are looked up by indexes alone', async () => {
    await using rig = await journalRig();
    const { rows } = await rig.pool.query({
      text: "explain select distinct on (command_id) command_id from journal where shard = 0 and resolved_at is not null and (order_id is null or state <> 'applied') and command_id > $1 order by command_id limit 2000",
      values: ['00000000-0000-0000-0000-000000000000'],
    });
    expect(JSON.stringify(rows)).toContain('journal_came_to_nothing');
  });
});
