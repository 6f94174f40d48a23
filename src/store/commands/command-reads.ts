import { decodeUpdate } from '../../domain/encode-update.ts';
import type { Order } from '../../domain/order.ts';
import type { BoundOrder } from '../../domain/resolving.ts';
import type { Selectable } from '../../domain/select-orders.ts';
import { fromRow, type RowOf, readableRows, readRow } from '../rows.ts';
import { storableJson } from '../session/write-once.ts';
import type { OpenOrder } from './cancel-all-journal.ts';
import type { JournalPreview, Rival } from './command-journal.ts';
import { decodeCommand, type StoredCommand } from './decode-command.ts';
import type { JournalRead } from './journal-calls.ts';

/** The takeover of its shard has named it, and halted its account. */
function alreadyNamed(): void {}

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** No other text can be a command's id. Postgres would answer one with an error. */
export function isCommandId(text: string): boolean {
  return uuid.test(text);
}

/** One command with its attempts, or undefined if there is none. */
export const readCommand: JournalRead<'find'> = async (pool, commandId) => {
  if (!isCommandId(commandId)) return undefined;
  const { rows } = await pool.query<{ command: StoredCommand }>({
    name: 'read_command',
    text: 'select public.command_json(command_id) as command from public.journal where command_id = $1 and number = 1',
    values: [commandId],
  });
  return rows[0] && decodeCommand(rows[0].command);
};

/**
 * Every reason for which an opening would be refused for the command. By `preview_command` in
 * `src/store/sql/steps.sql`; it turns its transaction read only.
 */
export const readPreview: JournalRead<'preview'> = async (pool, command) => {
  const { rows } = await pool.query<{ preview: JournalPreview }>({
    name: 'preview_command',
    text: 'select public.preview_command($1) as preview',
    values: [storableJson(command)],
  });
  const [row] = rows;
  if (row === undefined) throw new Error('preview_command gave no row');
  return row.preview;
};

/** The command holding the key, as an opening sees it. */
export const readCommandByKey: JournalRead<'findByKey'> = async (pool, principal, idempotencyKey) => {
  if (`${principal}${idempotencyKey}`.includes('\0')) return undefined;
  const { rows } = await pool.query<{ command: StoredCommand }>({
    name: 'read_command_by_key',
    text: `select public.command_json(command_id) as command from public.commands
      where principal = $1 and idempotency_key = $2 and key_held and (resolved_at is null or resolved_at > clock_timestamp() - interval '7 days')`,
    values: [principal, idempotencyKey],
  });
  return rows[0] && decodeCommand(rows[0].command);
};

/** Commands by attempt id. Those that are not ours are left out. */
export const readCommandsByAttempts: JournalRead<'findByAttempts'> = async (pool, attemptIds) => {
  const askable = attemptIds.filter((id) => !id.includes('\0'));
  if (askable.length === 0) return new Map();
  const { rows } = await pool.query<{ attempt_id: string; command: StoredCommand }>(
    `select a.attempt_id, public.command_json(a.command_id) as command
     from unnest($1::text[]) as k(attempt_id) join public.journal a using (attempt_id)`,
    [askable],
  );
  return new Map(readableRows(rows, (row) => [row.attempt_id, decodeCommand(row.command)] as const, alreadyNamed));
};

/** Commands not final, oldest first, at most `limit`, from above `after`; see the port. */
export const readUnresolved: JournalRead<'unresolved'> = async (pool, limit, after, shards) => {
  const from = after === undefined ? '' : 'and (o.at, o.command_id) > (public.ms_to_time($3), $4::uuid)';
  const { rows } = await pool.query<{ command: StoredCommand }>(
    `select public.command_json(k.command_id) as command from (
       select o.command_id, o.at from public.open_commands w join public.journal o on o.command_id = w.command_id and o.number = 1
       where w.standing <> 'resolved' and ($2::integer[] is null or w.shard = any($2)) ${from} order by o.at, o.command_id limit $1
     ) as k order by k.at, k.command_id`,
    [limit, shards ?? null, ...(after === undefined ? [] : [after.createdAtMs, after.commandId])],
  );
  const found = readableRows(rows, ({ command }) => decodeCommand(command), alreadyNamed);
  const last = rows.at(-1);
  if (last === undefined || rows.length < limit || found.length === limit) return found;
  // A short page is the last one, so the places of those that can't be read are filled.
  return [...found, ...(await readUnresolved(pool, limit - found.length, last.command, shards))];
};

/** Orders bound to these commands by ingest, matching or not. */
export const readBoundOrders: JournalRead<'boundOrders'> = async (pool, commandIds) => {
  const askable = commandIds.filter(isCommandId);
  if (askable.length === 0) return [];
  const { rows } = await pool.query<BoundOrder>(
    `select attempt_id as "attemptId", command_id as "commandId", order_id as "orderId", matches from public.order_bindings
     where command_id = any($1::uuid[]) order by command_id, bound_at, order_id`,
    [askable],
  );
  return rows;
};

const before = '00000000-0000-0000-0000-000000000000';

// By the index of final places not `applied` with an order, then by the index of bindings. An order
// is left out if it agrees with the result, as `resolvePlace` would. It is a rejected place's
// rejected order, an undecided one after the platform's answer `rejected`, or one a person had in
// sight when resolving the place.
const text = `
  with page as materialized (
    select distinct on (command_id) command_id from public.journal
    where shard = $1 and resolved_at is not null and (order_id is null or state <> 'applied') and command_id > $2
    order by command_id limit $3
  )
  select l.last, l.places, f.attempt_id as "attemptId", f.command_id as "commandId", f.order_id as "orderId", true as matches
  from (select (select command_id from page order by command_id desc limit 1) as last, (select count(*)::integer from page) as places) l
  left join (
    select b.attempt_id, b.command_id, b.order_id
    from page join public.commands p on p.command_id = page.command_id and p.kind <> 'cancel' and p.resolved_at is not null and (p.order_id is null or p.state <> 'applied')
    join public.order_bindings b on b.command_id = p.command_id and b.matches
    left join public.current_orders o on o.stream = b.stream and o.order_id = b.order_id
    left join public.attempts a on a.attempt_id = b.attempt_id
    cross join lateral (select
      o.state ->> 'commandId' = b.command_id::text and (o.state ->> 'cumQty' <> '0' or o.state ->> 'certainty' = 'certain' and o.status not in ('pending_new', 'unknown', 'rejected')) as taken,
      o.status = 'rejected' as refused) v
    where coalesce(v.taken, false)
      or p.order_id is null and (p.state <> 'rejected' or not (coalesce(v.refused, false) or a.state = 'rejected'))
  ) f on true
  order by f.command_id, f.order_id`;

/** Orders bound to final places not `applied` with an order; see the port. */
export const readLandings: JournalRead<'landings'> = async (pool, shard, after, limit) => {
  const { rows } = await pool.query<BoundOrder & { readonly last: string | null; readonly places: number }>(text, [
    shard,
    after ?? before,
    limit,
  ]);
  const { last = null, places = 0 } = rows[0] ?? {};
  const bound = rows.flatMap(({ last: _last, places: _places, ...order }) => (order.attemptId === null ? [] : [order]));
  return last === null || places < limit ? { bound } : { bound, next: last };
};

/**
 * Other cancels for the same orders, perhaps in flight at the same time, and replaces that name
 * these; see the port. By the indexes on an order's commands and on successors.
 */
export const readRivals: JournalRead<'rivals'> = async (pool, commandIds) => {
  const askable = commandIds.filter(isCommandId);
  if (askable.length === 0) return [];
  const { rows } = await pool.query<Rival>(
    `with recursive chain(command_id, rival_id, state, supersedes) as (
       select command_id, command_id, state, supersedes from public.commands where command_id = any ($1::uuid[]) and kind = 'replace'
       union
       select l.command_id, s.command_id, s.state, s.supersedes
       from chain l join public.commands s on s.supersedes = l.rival_id or s.command_id = l.supersedes
     )
     select c.command_id as "commandId", r.command_id as "rivalId"
     from unnest($1::uuid[]) as k(command_id) join public.commands c using (command_id)
     join public.commands r on r.stream = c.stream and r.order_id = c.order_id and r.kind <> 'place'
     where c.kind = 'cancel' and r.kind = 'cancel' and r.command_id <> c.command_id and r.state not in ('refused', 'not_sent')
       and (r.resolved_at is null or r.resolved_at > c.created_at - interval '1 day')
     union all
     select command_id, rival_id from chain where rival_id <> command_id and state not in ('refused', 'not_sent')
     order by 1, 2`,
    [askable],
  );
  return rows;
};

/**
 * Updates for one order above `afterRevision`, oldest first, from the log: by their chain from the
 * newest one. Not prepared: see `PostgresUpdateLog`. Updates older than the log's
 * retention are gone.
 */
export const readResolvingUpdates: JournalRead<'updatesAfter'> = async (
  pool,
  stream,
  orderId,
  afterRevision,
  limit,
) => {
  if (orderId.includes('\0')) return [];
  const { rows } = await pool.query<{ payload: string }>(
    `select u.payload from (select lane, seq, revision from public.order_chain($1, $2, $3) order by revision limit $4) as c
     cross join lateral (select payload from public.order_updates where lane = c.lane and seq = c.seq limit 1) as u order by c.revision`,
    [stream, orderId, afterRevision, limit],
  );
  // One that can't be read is gone for the verdict, as those behind the retention are.
  const decode = ({ payload }: { readonly payload: string }) =>
    readRow('order_updates', orderId, () => decodeUpdate(payload));
  return readableRows(rows, decode, () => undefined);
};

/**
 * The stored order. Its `cause` is `stored`, since only the log knows its last revision's cause.
 */
export const readResolvingOrder: JournalRead<'readOrder'> = async (pool, stream, orderId) => {
  if (orderId.includes('\0')) return undefined;
  const { rows } = await pool.query<{
    revision: string;
    source_version: string | null;
    order: Order | null;
    in_question: boolean | null;
  }>({
    name: 'resolving_order',
    text: `select revision, source_version, state as order, (join_state ->> 'inQuestion')::boolean as in_question
      from public.current_orders where stream = $1 and order_id = $2`,
    values: [stream, orderId],
  });
  const [row] = rows;
  // Nothing is known of an order whose state can't be read; a read of it brings an update.
  if (row?.order == null) return undefined;
  const { revision, source_version, order, in_question } = row;
  return {
    revision: Number(revision),
    sourceEpoch: order.sourceEpoch ?? 0,
    ...(source_version !== null && { sourceVersion: BigInt(source_version) }),
    cause: 'stored',
    order,
    ...(in_question === true && { inQuestion: true }),
  };
};

/**
 * One account's open orders by (stream, orderId), from above `after`. `orders_by_account` has the
 * same order, so no more rows are read than are returned. An order's place is the one it is bound
 * to, and no other that named the id: the platform may have given it again.
 */
export const readOpenOrders: JournalRead<'openOrders'> = async (pool, accountId, after, limit) => {
  const { rows } = await pool.query<RowOf<OpenOrder & Selectable>>(
    `${selectableOrders}
     where o.account_id = $1 and o.is_open and (o.stream, o.order_id) > ($2, $3) order by o.stream, o.order_id limit $4`,
    [accountId, after?.stream ?? '', after?.orderId ?? '', limit],
  );
  return rows.map(fromRow<OpenOrder & Selectable>);
};

/** Those among these orders that are stored under the account. */
export const readNamedOrders: JournalRead<'namedOrders'> = async (pool, accountId, orders) => {
  if (orders.length === 0) return [];
  const { rows } = await pool.query<RowOf<OpenOrder & Selectable>>(
    `${selectableOrders} where o.account_id = $1 and (o.stream, o.order_id) in (select * from unnest($2::text[], $3::text[]))`,
    [accountId, orders.map(({ stream }) => stream), orders.map(({ orderId }) => orderId)],
  );
  return rows.map(fromRow<OpenOrder & Selectable>);
};

/**
 * An unreadable state keeps no order from its cancel: the command that placed it is known, as long
 * as the id was given once.
 */
const selectableOrders = `select o.stream, o.order_id as "orderId", o.symbol, coalesce(s.side, c.side, 'unknown') as side, c.principal, s.incarnation,
       array_remove(array[coalesce(s."callerRef", c.caller_ref), s."clOrdId", s."clientOrderRef",
         case when s.side is null then b.attempt_id end], null) as references
     from public.current_orders o
     left join lateral json_to_record(o.state) as s(side text, "commandId" text, "callerRef" text, "clOrdId" text, "clientOrderRef" text, incarnation integer) on true
     left join public.order_bindings b on o.state is null and o.join_state ->> 'incarnation' is null and b.stream = o.stream and b.order_id = o.order_id and b.matches
     left join public.commands c on c.command_id =
       case when s."commandId" ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then s."commandId"::uuid else b.command_id end`;
