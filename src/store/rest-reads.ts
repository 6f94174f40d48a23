import type { Pool } from 'pg';
import { type Evidence, isFinal } from '../domain/command.ts';
import { accountsOf, inScope, scopeParameter } from './account-scope.ts';
import { isCommandId } from './commands/command-reads.ts';
import { decodeCommand, evidenceColumns, type StoredCommand } from './commands/decode-command.ts';
import { readExposure } from './commands/read-exposure.ts';
import { listNewestOrders } from './orders/list-newest-orders.ts';
import {
  countOrdersByStatus,
  findOrders,
  listOrders,
  loadOrders,
  type OrderPageQuery,
  streamArray,
} from './orders/list-orders.ts';
import type {
  AccountRow,
  AccountScope,
  CommandFilter,
  OrderRead,
  OrderReads,
  Page,
  StoredOrder,
  UnreadableItem,
} from './orders/order-reads.ts';
import { readEventHorizon, readEvents } from './orders/read-events.ts';
import { readHistory, readNewestSeq, readStream } from './orders/read-stream.ts';
import { TurnBatch, type TurnBatchOptions } from './orders/turn-batch.ts';
import { fromRow, type RowOf, readableRows, UnreadableRowError } from './rows.ts';
import { type PoolDeps, repeated, retryTransaction } from './session/retry-transaction.ts';

const batching: TurnBatchOptions = { maxInFlight: 2, maxBatch: 500, maxWaiting: 10_000 };

interface ExposureQuery {
  readonly scope: AccountScope;
  readonly accountId: string | undefined;
}

/**
 * The port `OrderReads` in Postgres: the scope is part of every statement. Single orders asked for
 * in one turn of the event loop are one query, and so are equal pages and equal exposures. `pool`:
 * made by `createReadPool`, only for REST.
 */
export function postgresOrderReads(deps: PoolDeps): OrderReads {
  const { clock, pool } = deps;
  const again = <T>(work: () => Promise<T>): Promise<T> => retryTransaction(deps, work);
  const read = repeated(deps);
  /** Reads each different one once. A failing read fails only the callers that asked for it. */
  const once = <Query, Answer>(answer: (query: Query) => Promise<Answer>) => {
    const all = (queries: readonly Query[]) => {
      const reads = new Map<string, Promise<Answer>>();
      return Promise.allSettled(
        queries.map((query) => {
          const name = JSON.stringify(query);
          const found = reads.get(name) ?? again(() => answer(query));
          reads.set(name, found);
          return found;
        }),
      );
    };
    const batches = new TurnBatch({ clock, answer: all }, batching);
    return async (query: Query): Promise<Answer> => {
      const result = await batches.ask(query);
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    };
  };
  const pages = once((query: OrderPageQuery) => readPage(pool, query));
  const exposures = once(({ scope, accountId }: ExposureQuery) => readExposure(pool, scope, accountId));
  const single = new TurnBatch({ clock, answer: read(loadOrders) }, batching);
  return {
    listOrders: (scope, filter, after, limit, sort = 'orderId') => pages({ scope, filter, after, limit, sort }),
    countOrders: read(countOrdersByStatus),
    // Postgres' text has no NUL, so such an order can't be known. It would fail all orders asked
    // for with it.
    getOrder: async (scope, stream, orderId) =>
      orderId.includes('\0') ? undefined : orThrow(await single.ask({ scope, stream, orderId })),
    history: read(readHistory),
    listCommands: read(listCommands),
    findCommand: read(findCommand),
    accounts: read(readAccounts),
    exposure: (scope, accountId) => exposures({ scope, accountId }),
    updatesAfter: (scope, afterSeq, limit) => again(() => readStream(deps, scope, afterSeq, limit)),
    eventHorizon: read(readEventHorizon),
    eventsAfter: read(readEvents),
    newestSeq: () => again(() => readNewestSeq(deps)),
  };
}

function orThrow<T>(found: T | UnreadableRowError): T {
  if (found instanceof UnreadableRowError) throw found;
  return found;
}

/**
 * If the text names orders whole, and one page holds them, they are the result. Otherwise it is
 * looked for as a part, which finds these as well. Only the first page asks for them.
 */
async function readPage(pool: Pool, query: OrderPageQuery): Promise<Page<StoredOrder>> {
  const named = query.after === undefined ? await findOrders(pool, query) : undefined;
  if (named !== undefined && (named.items.length > 0 || named.unreadable !== undefined)) return named;
  return query.sort === '-updatedAt' ? listNewestOrders(pool, query) : listOrders(pool, query);
}

/** The accounts ever followed, with their open orders counted in `orders_by_account`. */
const readAccounts: OrderRead<'accounts'> = async (pool, scope, [afterId, afterStream] = [], limit) => {
  const { rows } = await pool.query<AccountRow>(
    `select a.stream, a.account_id as "accountId", a.is_sim as "isSim", (
       select count(*)::int from public.orders o where o.account_id = a.account_id and o.stream = a.stream and o.is_open
     ) as "openOrders"
     from public.accounts a
     where ${inScope('a.account_id', 1)} and ($2::text is null or (a.account_id, a.stream) > ($2::text, $3::text))
     order by a.account_id, a.stream limit $4`,
    [scopeParameter(scope), afterId ?? null, afterStream ?? null, limit === undefined ? null : limit + 1],
  );
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return rows.length > items.length && last !== undefined ? { items, next: [last.accountId, last.stream] } : { items };
};

/** `isUnresolved` in domain/command.ts. */
const unresolved = `l.resolved_at is null and l.state in ('open', 'unknown', 'conflict')`;

/**
 * A page by kind or result looks at this many commands, of all accounts together, and at least as
 * many of each as it shows. An index for each would be written at every command. So a page for a
 * rare word may be short, or empty, and says where the next one continues.
 */
const lookedAtInAll = 20_000;
const lookedAt = 2_000;

/** Adds a value to a statement, for its name. */
type Place = (value: unknown) => string;

/**
 * Each filter as SQL. `names`: over `c`, through an index. The others: over `l`, the commands that
 * are looked at.
 */
const conditions: {
  readonly [name in Exclude<keyof CommandFilter, 'accountId'>]-?: {
    readonly names?: true;
    readonly sql: (value: Required<CommandFilter>[name], place: Place) => string;
  };
} = {
  kind: { sql: (kind, place) => `l.kind = ${place(kind)}` },
  state: { sql: (state, place) => `l.state = ${place(state)}` },
  unresolved: { sql: (isOpen) => (isOpen ? unresolved : `not (${unresolved})`) },
  idempotencyKey: { names: true, sql: (key, place) => `c.idempotency_key = ${place(key)}` },
  callerRef: { names: true, sql: (reference, place) => `c.caller_ref = ${place(reference)}` },
  q: {
    names: true,
    sql: (q, place) => `c.command_id in (${namedBy(`${place(isCommandId(q) ? q : null)}::uuid`, place(q))})`,
  },
};

function conditionsOf(filter: CommandFilter, which: { readonly names: boolean }, place: Place): string[] {
  return Object.entries(conditions).flatMap(([name, { names = false, sql }]) => {
    const value = filter[name as keyof CommandFilter];
    if (names !== which.names || value === undefined) return [];
    // Safe: the value is that of the same name.
    return [(sql as (value: unknown, place: Place) => string)(value, place)];
  });
}

type CommandRow = {
  readonly last_made: string;
  readonly last_id: string;
  readonly looked: string;
} & ({ readonly command: StoredCommand; readonly made: string } | { readonly command: null });

/**
 * A page of commands, newest first. A cursor is a command's time of creation (microseconds) and its
 * id: of the last one shown, or looked at.
 */
const listCommands: OrderRead<'listCommands'> = async (pool, scope, filter, after, limit) => {
  const { accountId } = filter;
  const accounts = scope.kind === 'all' && accountId === undefined ? null : await accountsOf(pool, scope, accountId);
  const values: unknown[] = [accounts, limit + 1];
  const place = (value: unknown) => `$${values.push(value)}`;
  const chosen = conditionsOf(filter, { names: false }, place);
  const share = Math.min(lookedAt, Math.ceil(lookedAtInAll / Math.max(1, accounts?.length ?? 1)));
  const look = chosen.length > 0 ? Math.max(share, limit + 1) : limit + 1;
  const most = place(look);
  const { rows } = await pool.query<CommandRow>(
    `with looked as materialized (${looked(filter, { after, accounts, most, place })} order by created_at desc, command_id desc limit ${most}),
     page as (
       select public.command_json(l.command_id) as command, l.created_at, l.command_id, ${microseconds('l.created_at')} as made
       from looked l
       where ${['true', ...chosen].join(' and ')} order by l.created_at desc, l.command_id desc limit $2
     ),
     last as (
       select ${microseconds('created_at')} as last_made, command_id as last_id, count(*) over () as looked
       from looked order by created_at, command_id limit 1
     )
     select page.command, page.made, last.* from last left join page on true order by page.created_at desc, page.command_id desc`,
    values,
  );
  const found = rows.flatMap((row) => (row.command === null ? [] : [row]));
  const unreadable: UnreadableItem[] = [];
  const items = readableRows(
    found.slice(0, limit),
    ({ command }) => decodeCommand(command),
    ({ key }) => unreadable.push({ commandId: key }),
  );
  const page = { items, ...(unreadable.length > 0 && { unreadable }) };
  const shown = found[limit - 1];
  if (found.length > limit && shown !== undefined) return { ...page, next: [shown.made, shown.command.commandId] };
  const [row] = rows;
  return row === undefined || Number(row.looked) < look ? page : { ...page, next: [row.last_made, row.last_id] };
};

const microseconds = (time: string) => `(extract(epoch from ${time}) * 1000000)::bigint::text`;

interface Looking {
  readonly after: readonly string[] | undefined;
  readonly accounts: readonly string[] | null;
  readonly most: string;
  readonly place: Place;
}

/** The commands a page looks at, in no order yet. */
function looked(filter: CommandFilter, { after, accounts, most, place }: Looking): string {
  const { state, unresolved: isOpen } = filter;
  const where = ['true', ...conditionsOf(filter, { names: true }, place)];
  const isNamed = where.length > 1;
  if (after !== undefined) {
    const made = `timestamptz 'epoch' + ${place(after[0])}::bigint * interval '1 microsecond'`;
    where.push(`(c.created_at, c.command_id) < (${made}, ${place(after[1])}::uuid)`);
  }
  const of = (...more: string[]) =>
    `select c.command_id, c.created_at, c.kind, c.state, c.resolved_at from public.commands c where ${[...where, ...more].join(' and ')}`;
  const inAccounts = inScope('c.account_id', 1);
  // Those without a final result are few, and none of the older rows between them is read: the
  // planner may not take the index by time instead.
  if (isOpen === true || (state !== undefined && !isFinal(state)))
    return `select k.* from public.open_commands w cross join lateral (${of(inAccounts, 'c.command_id = w.command_id')} offset 0) as k where w.standing <> 'resolved'`;
  if (isNamed || accounts === null) return of(inAccounts);
  // A quiet account's commands are not sought among those of all.
  const newest = `${of('c.account_id = a.account_id')} order by c.created_at desc, c.command_id desc limit ${most}`;
  return `select k.* from unnest($1::text[]) as a(account_id) cross join lateral (${newest}) k`;
}

/**
 * The ids of commands the text names to the letter; each arm has its own index. `id`: the text if
 * it may be a command's id.
 */
function namedBy(id: string, text: string): string {
  const inStreams = `stream = any(${streamArray})`;
  return [
    `select ${id}`,
    `select command_id from public.journal where attempt_id = ${text}`,
    `select command_id from public.journal where kind = 'opening' and idempotency_key = ${text}`,
    `select command_id from public.journal where caller_ref = ${text}`,
    `select command_id from public.order_bindings where ${inStreams} and order_id = ${text} and matches`,
    `select command_id from public.journal where kind = 'opening' and order_id is not null and ${inStreams} and order_id = ${text}`,
  ].join(' union all ');
}

/**
 * Each complete read without the order is a fact, so a command may have thousands. The first ones
 * are what it began with, the newest what it is about now.
 */
const [firstFacts, newestFacts] = [50, 150];

/** One command with what is known about it, in one snapshot. */
const findCommand: OrderRead<'findCommand'> = async (pool, scope, commandId) => {
  if (!isCommandId(commandId)) return undefined;
  const { rows } = await pool.query<{ command: StoredCommand; evidence: RowOf<Evidence>[] }>({
    name: 'find_command',
    text: `select public.command_json(c.command_id) as command, (
        select coalesce(json_agg(e order by e.number), '[]')
        from (
          (select ${evidenceColumns} from public.evidence e where command_id = $2 order by e.number limit ${firstFacts})
          union all
          (select ${evidenceColumns} from public.evidence e where command_id = $2 and e.number > ${firstFacts} order by e.number desc limit ${newestFacts})
        ) as e
      ) as evidence
      from public.journal c where c.command_id = $2 and c.number = 1 and ${inScope('c.account_id', 1)}`,
    values: [scopeParameter(scope), commandId],
  });
  const [row] = rows;
  return row && { command: decodeCommand(row.command), evidence: row.evidence.map(fromRow<Evidence>) };
};
