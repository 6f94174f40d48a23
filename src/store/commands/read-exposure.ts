import type { Pool } from 'pg';
import { type Command, isUnresolved } from '../../domain/command.ts';
import { addDecimals, parseDecimal } from '../../domain/decimal.ts';
import { commandExposure } from '../../domain/limits.ts';
import { type Order, orderWord } from '../../domain/order.ts';
import { present } from '../../domain/present.ts';
import { canonicalSymbol } from '../../domain/symbol.ts';
import { accountsOf } from '../account-scope.ts';
import { streamArray } from '../orders/list-orders.ts';
import type { AccountScope, ExposureRow } from '../orders/order-reads.ts';
import { fromRow, type RowOf, readableRows } from '../rows.ts';
import { decodeCommand, type StoredCommand } from './decode-command.ts';

type Place = Pick<ExposureRow, 'accountId' | 'stream' | 'symbol' | 'outcome' | 'side'>;

type OpenRow = RowOf<Place & Pick<ExposureRow, 'openOrders' | 'openQuantity'>>;

interface CommandRow {
  readonly command: StoredCommand;
  /** The order a replace or cancel names. */
  readonly order: Order | null;
}

/**
 * Open orders, and unresolved commands as if they were live, per account, instrument and side,
 * sorted by these. Commands are read before orders. If a command's order resolves it between the
 * two reads, it is counted twice for a moment, but never missed.
 */
export async function readExposure(
  pool: Pool,
  scope: AccountScope,
  accountId: string | undefined,
): Promise<readonly ExposureRow[]> {
  const accounts = scope.kind === 'all' && accountId === undefined ? null : await accountsOf(pool, scope, accountId);
  const commands = await readUnresolvedIn(pool, accounts);
  const open = await readOpenIn(pool, accounts ?? (await accountsOf(pool, scope, undefined)));
  const rows = new Map<string, ExposureRow>();
  for (const { openOrders, openQuantity: sum, ...place } of open) {
    const openQuantity = parseDecimal(sum) ?? sum;
    addTo(rows, fromRow<Place>(place), { openOrders, openQuantity, unresolvedCommands: 0, unresolvedQuantity: '0' });
  }
  for (const { command: stored, order } of commands) {
    const [command] = readableRows([stored], decodeCommand, () => undefined);
    // Of a command that can't be read the account is halted, and the halt names it.
    if (command === undefined) continue;
    const added = commandExposure(command, order ?? undefined);
    if (added === undefined && !isUnresolved(command.state)) continue;
    const unresolvedQuantity = added?.quantity ?? '0';
    addTo(rows, placeOfCommand(command, order), {
      openOrders: 0,
      openQuantity: '0',
      unresolvedCommands: 1,
      unresolvedQuantity,
    });
  }
  return [...rows.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/**
 * Each order's JSON is parsed once, for all its fields. One that can't be read counts as an
 * order with an unknown side and quantity.
 */
async function readOpenIn(pool: Pool, accounts: readonly string[]): Promise<OpenRow[]> {
  if (accounts.length === 0) return [];
  const { rows } = await pool.query<OpenRow>(
    `select o.account_id as "accountId", o.stream, o.symbol, s.instrument ->> 'outcome' as outcome, coalesce(s.side, 'unknown') as side, count(*)::int as "openOrders",
       trim_scale(coalesce(sum(case when s."leavesQty" ~ '^-?[0-9]+([.][0-9]+)?$' then s."leavesQty"::numeric end), 0))::text as "openQuantity"
     from unnest($1::text[]) as a(account_id) cross join unnest(${streamArray}) as k(stream)
     join public.current_orders o on o.account_id = a.account_id and o.stream = k.stream and o.is_open
     left join lateral json_to_record(o.state) as s(instrument json, side text, "leavesQty" text) on true
     group by 1, 2, 3, 4, 5`,
    [accounts],
  );
  return rows;
}

/** Includes accepted places: until its order is observed, an accepted place is nowhere else. */
async function readUnresolvedIn(pool: Pool, accounts: readonly string[] | null): Promise<CommandRow[]> {
  const { rows } = await pool.query<CommandRow>(
    `select public.command_json(c.command_id) as command, o.state as order
     from public.open_commands w join public.journal c on c.command_id = w.command_id and c.number = 1
     left join public.current_orders o on c.request_kind <> 'place' and o.stream = c.stream and o.order_id = c.order_id
     where w.standing <> 'resolved' and ($1::text[] is null or w.account_id = any($1))`,
    [accounts],
  );
  return rows;
}

function placeOfCommand({ request }: Command, order: Order | null): Place {
  const { accountId, stream } = request;
  if (request.kind !== 'place') {
    const { instrument, side = '' } = order ?? {};
    return present({ accountId, stream, symbol: instrument?.symbol ?? '', outcome: instrument?.outcome, side });
  }
  const { terms } = request;
  const outcome = 'outcome' in terms ? terms.outcome : undefined;
  return present({ accountId, stream, symbol: terms.symbol, outcome, side: orderWord(terms.side) });
}

type Amounts = Omit<ExposureRow, keyof Place>;

function addTo(rows: Map<string, ExposureRow>, place: Place, more: Amounts): void {
  const key = keyOf(place);
  const row = rows.get(key);
  rows.set(key, {
    ...place,
    openOrders: (row?.openOrders ?? 0) + more.openOrders,
    openQuantity: addDecimals(row?.openQuantity ?? '0', more.openQuantity),
    unresolvedCommands: (row?.unresolvedCommands ?? 0) + more.unresolvedCommands,
    unresolvedQuantity: addDecimals(row?.unresolvedQuantity ?? '0', more.unresolvedQuantity),
  });
}

/** Two spellings of one symbol are one row. */
function keyOf({ accountId, stream, symbol, outcome = '', side }: Place): string {
  return JSON.stringify([accountId, stream, canonicalSymbol(symbol), outcome, side]);
}
