// What a user saw: A list of commands by a rare kind took minutes, and read every command there was.

import { expect, it } from 'vitest';
import type { CommandFilter } from '../../../src/store/orders/order-reads.ts';
import { rowsRead } from '../../store/rows-read.ts';
import { all, only, readRig } from '../../support/orders/read-rig.ts';

const total = 12_000;

/** The oldest one is the only replace, and the only one that moot ended. */
const commands = `insert into commands (command_id, shard, principal, idempotency_key, request_hash, kind, stream, account_id, symbol, side, request,
    state, version, order_id, deadline_at, created_at, updated_at, settled_at)
  select ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid, 0, 'desk', 'k-' || i, 'h', case when i = 1 then 'replace' else 'place' end, 'prediction',
    case when i <= 3 then 'quiet' else 'acct-' || i % 3 end, 'S', 'buy',
    '{"kind":"place","stream":"prediction","accountId":"a","terms":{"symbol":"S","outcome":"YES","side":"buy","orderType":"market","quantity":"1"}}',
    case when i = 1 then 'moot' when i = 2 then 'unknown' else 'applied' end, 1, 'o-' || i, now(), timestamptz '2026-11-21' + i * interval '1 second', now(),
    case when i <> 2 then now() end
  from generate_series(1, $1::int) i`;

/** More than it may look at, with some rows that are shown. */
const mostRead = 2_200;

it('a page by a rare kind or outcome looks at so many commands, and the next ones go on to the end', async () => {
  await using rig = await readRig();
  await rig.pool.query('alter table commands set (autovacuum_enabled = off), disable trigger user');
  await rig.pool.query(commands, [total]);
  const filters: readonly (readonly [filter: CommandFilter, found: number])[] = [
    [{ kind: 'replace' }, 1],
    [{ state: 'moot' }, 1],
    [{ kind: 'cancel' }, 0],
    [{ state: 'rejected', unresolved: false }, 0],
    [{ state: 'unknown' }, 1],
    [{ unresolved: true }, 1],
    [{ accountId: 'quiet' }, 3],
    [{ accountId: 'quiet', kind: 'replace' }, 1],
    [{ callerRef: 'no-one-has-it', kind: 'cancel' }, 0],
  ];
  for (const scope of [all, only('quiet', 'acct-1')])
    for (const [filter, found] of filters) {
      const keys: string[] = [];
      let after: readonly string[] | undefined;
      let pages = 0;
      do {
        const first = rig.queries.length;
        const page = await rig.reads.listCommands(scope, filter, after, 50);
        for (const asked of rig.queries.slice(first))
          expect(await rowsRead(rig.readPool, asked, 'commands'), JSON.stringify({ filter })).toBeLessThan(
            mostRead * 2,
          );
        keys.push(...page.items.map(({ idempotencyKey }) => idempotencyKey));
        after = page.next;
        pages += 1;
      } while (after !== undefined && pages < 20);
      expect(after).toBeUndefined();
      expect(keys, JSON.stringify({ filter })).toHaveLength(found);
      expect(new Set(keys).size).toBe(found);
    }
});
