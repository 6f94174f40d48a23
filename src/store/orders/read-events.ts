import { encodeCommandResult } from '../../domain/encode-command-result.ts';
import { formatInstant } from '../../domain/instant.ts';
import { decodeCommand, type StoredCommand } from '../commands/decode-command.ts';
import type { StoredHalt } from '../commands/halts.ts';
import { readableRows, readRow } from '../rows.ts';
import type { OrderRead, StreamedEvent } from './order-reads.ts';

type EventRow = { readonly tx_id: string; readonly id: string; readonly generation: number | null } & (
  | { readonly kind: 'result'; readonly snapshot: StoredCommand }
  | { readonly kind: 'halt'; readonly snapshot: StoredHalt }
);

/**
 * A database that lost commits, or was restored on another server, counts its transactions anew
 * from a lower or a higher number. So a position has an era above the 40 bits of that number, and a
 * reader with one of an earlier era gets a reset. The era stands in the numbers of events
 * (`begin_generation` raises them): events that were restored are of an earlier one.
 */
const base = `(select last_value >> 40 << 40 from public.event_numbers)`;

/**
 * The oldest transaction in this database that has not ended, or the end of all there were. A
 * transaction in another database on the same server counts until it is proven to be there: the
 * process with its number is connected elsewhere. A late proof does no harm: the transaction has
 * ended by then.
 */
export const readEventHorizon: OrderRead<'eventHorizon'> = async (pool) => {
  const { rows } = await pool.query<{ horizon: string; end: string }>(
    `with running as materialized (
       select x::text::bigint as tx from pg_snapshot_xip(pg_current_snapshot()) as x
     ), elsewhere as materialized (
       select l.transactionid::text::bigint as low from pg_locks l join pg_stat_activity a on a.pid = l.pid
       where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted
         and a.datid <> (select oid from pg_database where datname = current_database()) and exists (select from running)
     )
     select coalesce((select min(r.tx) from running r where not exists (select from elsewhere e where e.low = r.tx & 4294967295)),
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint) + ${base} as horizon, pg_snapshot_xmax(pg_current_snapshot())::text::bigint + ${base} as end`,
  );
  return { horizon: BigInt(rows[0]?.horizon ?? 0), end: BigInt(rows[0]?.end ?? 0) };
};

/**
 * Events above `after`, from transactions below `horizon`, by position, at most `limit`. A floor of
 * the server before says nothing here.
 */
export const readEvents: OrderRead<'eventsAfter'> = async (pool, after, horizon, limit) => {
  const { rows } = await pool.query<
    { base: string; floor: string | null } & { [column in keyof EventRow]: EventRow[column] | null }
  >({
    name: 'read_events',
    text: `with era as materialized (
        select base, greatest($1::bigint - base, 0)::text::xid8 as above, greatest($3::bigint - base, 0)::text::xid8 as below from (select ${base} as base) b
      ), steps as (
        select 'result' as kind, e.tx_id, e.id, e.command_id, e.number, null::json as snapshot from public.command_events e
        where (tx_id, id) > ((select above from era), $2::bigint) and tx_id < (select below from era) and id > (select base from era) order by tx_id, id limit $4
      ), stops as (
        select 'halt' as kind, tx_id, id, null::uuid, null::integer, snapshot from public.halt_events
        where (tx_id, id) > ((select above from era), $2::bigint) and tx_id < (select below from era) and id > (select base from era) order by tx_id, id limit $4
      ), found as (
        select * from (select * from steps union all select * from stops) as events order by tx_id, id limit $4
      )
      select era.base, floor.tx_id::text as floor, (select max(generation) from public.lanes) as generation, f.kind, f.tx_id::text::bigint + era.base as tx_id, f.id::text as id,
        case f.kind when 'result' then public.command_json(f.command_id, f.number) else f.snapshot end as snapshot
      from era cross join (select (select tx_id from public.event_floor where tx_id < pg_snapshot_xmax(pg_current_snapshot())) as tx_id) as floor left join found f on true order by f.tx_id, f.id`,
    values: [after.tx.toString(), after.number.toString(), horizon.toString(), limit],
  });
  const found = rows.filter((row): row is { base: string; floor: string | null } & EventRow => row.id !== null);
  // The stream goes on without one that can't be read: the result log names it.
  const events = readableRows(found, toEvent, () => undefined);
  const last = found.at(-1);
  const [first] = rows;
  const from = BigInt(first?.base ?? 0);
  return {
    events,
    upTo:
      found.length === limit && last !== undefined
        ? { tx: BigInt(last.tx_id), number: BigInt(last.id) }
        : { tx: horizon, number: 0n },
    complete: after.tx >= from && (first?.floor == null || after.tx > from + BigInt(first.floor)),
  };
};

function toEvent(row: EventRow): StreamedEvent {
  const position = { tx: BigInt(row.tx_id), number: BigInt(row.id) };
  if (row.kind === 'halt') {
    return readRow('halt_events', row.id, () => ({
      ...position,
      kind: 'halt',
      payload: haltText(row.snapshot),
      ...(row.snapshot.accountId !== undefined && { accountId: row.snapshot.accountId }),
    }));
  }
  const command = decodeCommand(row.snapshot);
  const { accountId, stream } = command.request;
  return {
    ...position,
    kind: 'result',
    accountId,
    stream,
    payload: encodeCommandResult(command, row.generation ?? 1),
  };
}

function haltText({
  haltId,
  accountId,
  cause,
  reason,
  by,
  sinceMs,
  clearedAtMs,
  clearedBy,
  clearedReason,
}: StoredHalt): string {
  return JSON.stringify({
    haltId,
    scope: accountId === undefined ? { kind: 'service' } : { kind: 'account', accountId },
    inForce: clearedAtMs === undefined,
    ...{ cause, reason, by, since: formatInstant(sinceMs) },
    ...(clearedAtMs !== undefined && { clearedAt: formatInstant(clearedAtMs), clearedBy, clearedReason }),
  });
}
