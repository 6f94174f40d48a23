// What a user saw: Each round of maintenance read all commands there ever were, to free a few keys.
import type { Pool } from 'pg';
import { expect, it } from 'vitest';
import { maintainCommands } from '../../../src/store/maintenance.ts';
import { rowsRead } from '../../store/rows-read.ts';
import { type Asked, readRig } from '../../support/orders/read-rig.ts';

it.each([
  ['commands', 2],
  ['cancel_alls', 0],
])('keys of %s are freed by an index', async (table, old) => {
  await using rig = await readRig();
  await rig.pool.query(
    `insert into commands (command_id, shard, principal, idempotency_key, request_hash, kind, stream, account_id, symbol, side, request, state, version,
       deadline_at, created_at, updated_at, settled_at)
     select gen_random_uuid(), 1, 'desk', 'k-' || n, 'h', 'place', 'account', 'acct-1', 'AAPL', 'buy', '{}', 'refused', 1, now(),
       now() - case when n <= 2 then interval '8 days' else interval '1 day' end, now(), now()
     from generate_series(1, 3000) n`,
  );
  await rig.pool.query(
    `insert into cancel_alls (cancel_all_id, shard, principal, idempotency_key, request_hash, selection, reason, on_landing, orders, places, unread, declined, created_at)
     select gen_random_uuid(), 1, 'desk', 'k-' || n, 'h', '{}', 'r', 'leave', '[]', '[]', '[]', '[]', now() from generate_series(1, 3000) n`,
  );
  await rig.pool.query('analyze commands, cancel_alls');
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
  const freeing = asked.find(({ text }) => text.startsWith(`update public.${table} set key_held = false`));
  // Those that are old enough are read twice: to find them, and to change them.
  expect(await rowsRead(rig.pool, freeing ?? { text: '', values: [] }, table)).toBeLessThanOrEqual(2 * old);
});
