import type { Pool } from 'pg';
import { isAddressable } from '../../domain/platform-id.ts';
import { plural } from '../../runtime/plural.ts';
import { type Finding, warn } from './finding.ts';

const named = 5;

/**
 * Open orders that can be cancelled only at the platform itself, by their ids. No finding: there
 * are none. The pattern lets each of them through, and few others; it reads the open orders alone,
 * from an index.
 */
export async function checkReach(pool: Pick<Pool, 'query'>): Promise<Finding[]> {
  const { rows } = await pool.query<{ account_id: string; order_id: string }>(
    `select o.account_id, o.order_id from public.accounts a
     join public.orders o on o.account_id = a.account_id and o.stream = a.stream and o.is_open
     where o.order_id collate "C" ~ '(^|[/\\\\?#;])[.]{0,2}([/\\\\?#;]|$)|%|[^ -~]'
     order by 1, 2 limit 100000`,
  );
  const found = rows.filter((row) => !isAddressable(row.order_id));
  if (found.length === 0) return [];
  const names = found.slice(0, named).map((row) => `${row.account_id} ${JSON.stringify(row.order_id)}`);
  const more = found.length > named ? ', …' : '';
  return [
    warn(
      'order ids',
      `${plural(found.length, 'open order')} can be cancelled only at the platform itself, by no command and no cancel-all: ${names.join(', ')}${more}`,
      'Cancel them there if they have to go (docs/runbooks/OrdersOutOfReach.md).',
    ),
  ];
}
