import type { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { maintainCommands } from '../../src/store/maintenance.ts';
import { type Asked, readRig } from '../support/orders/read-rig.ts';
import { rowsRead } from './rows-read.ts';

const [all, old, lookedAt] = [40_000, 50, 10_000];

async function filled(analysed: boolean) {
  const rig = await readRig();
  await rig.pool.query(
    `insert into halt_events (snapshot, recorded_at)
     select '{}', now() - case when n <= ${old} then interval '2 days' else interval '0' end from generate_series(1, ${all}) n order by n`,
  );
  // As the server knows the table from before it grew, or as it is.
  if (analysed) await rig.pool.query('analyze halt_events');
  return rig;
}

it.each([
  ['halt_events', true],
  ['halt_events', false],
])('old rows of %s are forgotten without a read of all; analysed: %s', async (table, analysed) => {
  await using rig = await filled(analysed);
  const asked: Asked[] = [];
  const noting: Pool = Object.create(rig.pool, {
    query: {
      value: (text: string, values: unknown[] = []) => {
        asked.push({ text, values });
        return { rows: [], rowCount: 0 };
      },
    },
  });
  await maintainCommands(noting, { retentionMs: 86_400_000 });
  const forgetting = asked.find(({ text }) => text.includes(`delete from public.${table}`));
  const read = await rowsRead(rig.pool, forgetting ?? { text: '', values: [] }, table);
  expect(read, 'the oldest are looked at; those that go are found by their key, and deleted').toBeLessThanOrEqual(
    lookedAt + 2 * old,
  );
  await maintainCommands(rig.pool, { retentionMs: 86_400_000 });
  expect((await rig.pool.query(`select count(*)::int as left from ${table}`)).rows).toEqual([{ left: all - old }]);
});

describe('issue: Each round of maintenance read all commands there ever were, to free a few keys.', () => {
  it('keys of cancel-alls are freed by an index', async () => {
    const [table, old] = ['cancel_alls', 0];
    await using rig = await readRig();
    await rig.pool.query(
      `insert into cancel_alls (cancel_all_id, shard, principal, idempotency_key, request_hash, selection, reason, on_landing, orders, places, unread, declined, created_at)
     select gen_random_uuid(), 1, 'desk', 'k-' || n, 'h', '{}', 'r', 'leave', '[]', '[]', '[]', '[]', now() from generate_series(1, 3000) n`,
    );
    await rig.pool.query('analyze cancel_alls');
    const asked: Asked[] = [];
    const noting: Pool = Object.create(rig.pool, {
      query: {
        value: (text: string, values: unknown[] = []) => {
          asked.push({ text, values });
          return { rows: [], rowCount: 0 };
        },
      },
    });
    await maintainCommands(noting, { retentionMs: 1000 });
    const freeing = asked.find(({ text }) => text.includes(`update public.${table} set key_held = false`));
    // Those that are old enough are read twice: to find them, and to change them.
    expect(await rowsRead(rig.pool, freeing ?? { text: '', values: [] }, table)).toBeLessThanOrEqual(2 * old);
  });
});
