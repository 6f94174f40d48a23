// What a user saw: Each step of a command wrote its whole row again, and an entry in each index.
import { expect, it } from 'vitest';
import { fence, newPlace, sending } from '../../support/commands/journal-fixtures.ts';
import { journalRig } from '../../support/commands/journal-rig.ts';

/** What a step changes before the command is final, and an attempt before it is answered. */
const changing = {
  commands: [
    'state',
    'version',
    'reason',
    'presumed_absent',
    'pending_revision',
    'pending_version',
    'misses',
    'updated_at',
  ],
  attempts: ['state', 'sending_at', 'answered_at', 'reason'],
} as const;

it.each(['commands', 'attempts'] as const)('no index of %s names a column that a step changes', async (table) => {
  await using rig = await journalRig();
  // A column of a predicate or of an expression counts as well.
  const named = await rig.rows<{ index: string; name: string }>(
    `select i.indexrelid::regclass::text as index, a.attname as name
     from pg_index i
     join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = i.indexrelid and d.refobjid = i.indrelid and d.refobjsubid > 0
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = d.refobjsubid
     where i.indrelid = $1::regclass order by 1, 2`,
    [table],
  );
  const changes: readonly string[] = changing[table];
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter(({ name }) => changes.includes(name))).toEqual([]);
});

it('the mark and a step that settles nothing stay in the page of the row, and add no entry to an index', async () => {
  await using rig = await journalRig();
  await rig.pool.query('create extension pageinspect');
  /** Versions of the table's one row that were updated, and how many of them within the page. */
  const hotOf = async (table: string) => {
    const [row] = await rig.rows<{ hot: number; all: number }>(
      `select count(*) filter (where t_infomask2 & 16384 > 0)::int as hot, count(*)::int as all
       from heap_page_items(get_raw_page($1, 0)) where t_xmax::text <> '0' and t_infomask & 2048 = 0 and t_infomask & 128 = 0`,
      [table],
    );
    return row;
  };
  const command = await sending(rig.journal, newPlace());
  expect(await hotOf('attempts')).toEqual({ hot: 1, all: 1 });
  const { commandId, version } = command;
  await rig.journal.step({ commandId, version, to: 'accepted', atMs: command.createdAtMs, evidence: [] }, fence);
  expect(await hotOf('commands')).toEqual({ hot: 1, all: 1 });
});

it.each([
  ['the key of a principal', "principal = 'desk' and idempotency_key = 'k' and key_held", 'commands_one_per_key'],
  ['a key of any principal', "idempotency_key = 'k'", 'commands_one_per_key'],
  ['places that came to nothing', 'shard = 0 and came_to_nothing', 'commands_came_to_nothing'],
  ['commands of an order', "stream = 'account' and order_id = 'o' and kind <> 'place'", 'commands_of_order'],
])('%s is looked up by an index', async (_what, condition, index) => {
  await using rig = await journalRig();
  await rig.pool.query(
    `insert into commands (command_id, shard, principal, idempotency_key, request_hash, kind, stream, account_id, symbol, side, request, state, version,
       order_id, deadline_at, created_at, updated_at)
     select gen_random_uuid(), 1, 'desk', 'k-' || n, 'h', 'place', 'account', 'acct-' || n % 50, 'AAPL', 'buy', '{}', 'open', 1, 'o-' || n, now(), now(), now()
     from generate_series(1, 3000) n`,
  );
  await rig.pool.query('analyze commands');
  const plan = await rig.rows(`explain select command_id from commands where ${condition}`);
  expect(JSON.stringify(plan)).toContain(index);
});
