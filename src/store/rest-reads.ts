import type { Pool } from 'pg';
import { type Command, type CommandWithEvidence, isFinal } from '../domain/command.ts';
import type { Stream } from '../domain/order.ts';
import { inScope, scopeParameter } from './account-scope.ts';
import { isCommandId } from './commands/command-reads.ts';
import {
  decodeCommand,
  decodeEvidence,
  type EvidenceRow,
  evidenceColumns,
  type StoredCommand,
} from './commands/decode-command.ts';
import { readExposure } from './commands/read-exposure.ts';
import { countOrdersByStatus } from './orders/count-orders.ts';
import { findOrders } from './orders/find-orders.ts';
import { listNewestOrders } from './orders/list-newest-orders.ts';
import { listOrders, loadOrders, type OrderPageQuery, type OrderQuery } from './orders/list-orders.ts';
import type { AccountRow, AccountScope, CommandFilter, OrderReads, Page, StoredOrder } from './orders/order-reads.ts';
import { readEventHorizon, readEvents } from './orders/read-events.ts';
import { readHistory, readNewestSeq, readStream } from './orders/read-stream.ts';
import { TurnBatch, type TurnBatchOptions } from './orders/turn-batch.ts';
import { type RetryDeps, retryTransaction } from './session/retry-transaction.ts';

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
export function postgresOrderReads(deps: RetryDeps & { readonly pool: Pool }): OrderReads {
  const { clock, pool } = deps;
  const read = <T>(work: () => Promise<T>): Promise<T> => retryTransaction(deps, work);
  /** Reads each different one once. A failing read fails only the callers that asked for it. */
  const once = <Query, Answer>(answer: (query: Query) => Promise<Answer>) => {
    const all = (queries: readonly Query[]) => {
      const reads = new Map<string, Promise<Answer>>();
      return Promise.allSettled(
        queries.map((query) => {
          const name = JSON.stringify(query);
          const found = reads.get(name) ?? read(() => answer(query));
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
  const single = new TurnBatch(
    { clock, answer: (queries: readonly OrderQuery[]) => read(() => loadOrders(pool, queries)) },
    batching,
  );
  return {
    listOrders: (scope, filter, after, limit, sort = 'orderId') => pages({ scope, filter, after, limit, sort }),
    countOrders: (scope, filter) => read(() => countOrdersByStatus(pool, scope, filter)),
    // Postgres' text has no NUL, so such an order can't be known. It would fail all orders asked
    // for with it.
    getOrder: async (scope, stream, orderId) =>
      orderId.includes('\0') ? undefined : single.ask({ scope, stream, orderId }),
    history: (scope, stream, orderId, afterRevision, limit) =>
      read(() => readHistory(pool, scope, { stream, orderId }, afterRevision, limit)),
    listCommands: (scope, filter, after, limit) => read(() => listCommands(pool, scope, filter, after, limit)),
    findCommand: (scope, commandId) => read(() => findCommand(pool, scope, commandId)),
    accounts: (scope) => read(() => readAccounts(pool, scope)),
    exposure: (scope, accountId) => exposures({ scope, accountId }),
    updatesAfter: (scope, afterSeq, limit) => read(() => readStream(deps, scope, afterSeq, limit)),
    eventHorizon: () => read(() => readEventHorizon(pool)),
    eventsAfter: (after, horizon, limit) => read(() => readEvents(pool, after, horizon, limit)),
    newestSeq: () => read(() => readNewestSeq(deps)),
  };
}

/**
 * If the text names orders whole, and one page holds them, they are the result. Otherwise it is
 * looked for as a part, which finds these as well. Only the first page asks for them.
 */
async function readPage(pool: Pool, query: OrderPageQuery): Promise<Page<StoredOrder>> {
  const named = query.after === undefined ? await findOrders(pool, query) : [];
  if (named !== undefined && named.length > 0) return { items: named };
  return query.sort === '-updatedAt' ? listNewestOrders(pool, query) : listOrders(pool, query);
}

/** The accounts ever followed, with their open orders counted in `orders_by_account`. */
async function readAccounts(pool: Pool, scope: AccountScope): Promise<readonly AccountRow[]> {
  const { rows } = await pool.query<{ stream: Stream; account_id: string; is_sim: boolean; open_orders: string }>(
    `select a.stream, a.account_id, a.is_sim, (
       select count(*) from public.orders o where o.account_id = a.account_id and o.stream = a.stream and o.is_open
     ) as open_orders
     from public.accounts a where ${inScope('a.account_id', 1)} order by a.account_id, a.stream`,
    [scopeParameter(scope)],
  );
  return rows.map(({ stream, account_id, is_sim, open_orders }) => ({
    stream,
    accountId: account_id,
    isSim: is_sim,
    openOrders: Number(open_orders),
  }));
}

const microseconds = `(extract(epoch from c.created_at) * 1000000)::bigint::text`;
/** `isUnresolved` in domain/command.ts. */
const unresolved = `c.settled_at is null and c.state in ('open', 'unknown', 'conflict')`;

/**
 * A page of commands, newest first. A cursor is the last command's time of creation (microseconds)
 * and its id.
 */
async function listCommands(
  pool: Pool,
  scope: AccountScope,
  filter: CommandFilter,
  after: readonly string[] | undefined,
  limit: number,
): Promise<Page<Command>> {
  const values: unknown[] = [scopeParameter(scope), limit + 1];
  const where = [inScope('c.account_id', 1)];
  const add = (condition: (place: string) => string, value: unknown) => where.push(condition(`$${values.push(value)}`));
  if (filter.accountId !== undefined) add((place) => `c.account_id = ${place}`, filter.accountId);
  if (filter.kind !== undefined) add((place) => `c.kind = ${place}`, filter.kind);
  if (filter.state !== undefined) add((place) => `c.state = ${place}`, filter.state);
  // The same rows, and an index that has no others.
  if (filter.state !== undefined && !isFinal(filter.state)) where.push('c.settled_at is null');
  if (filter.idempotencyKey !== undefined) add((place) => `c.idempotency_key = ${place}`, filter.idempotencyKey);
  if (filter.callerRef !== undefined) add((place) => `c.caller_ref = ${place}`, filter.callerRef);
  if (filter.q !== undefined) {
    const id = `$${values.push(isCommandId(filter.q) ? filter.q : null)}::uuid`;
    add((place) => `c.command_id in (${namedBy(id, place)})`, filter.q);
  }
  if (filter.unresolved !== undefined) where.push(filter.unresolved ? unresolved : `not (${unresolved})`);
  if (after !== undefined) {
    const made = `timestamptz 'epoch' + $${values.push(after[0])}::bigint * interval '1 microsecond'`;
    add((place) => `(c.created_at, c.command_id) < (${made}, ${place}::uuid)`, after[1]);
  }
  const { rows } = await pool.query<{ command: StoredCommand; made: string }>(
    `select public.command_json(c) as command, ${microseconds} as made from public.commands c
     where ${where.join(' and ')} order by c.created_at desc, c.command_id desc limit $2`,
    values,
  );
  const items = rows.slice(0, limit).map(({ command }) => decodeCommand(command));
  const last = rows[limit - 1];
  return rows.length > limit && last !== undefined ? { items, next: [last.made, last.command.commandId] } : { items };
}

/**
 * The ids of commands the text names to the letter; each arm has its own index. `id`: the text if
 * it may be a command's id.
 */
function namedBy(id: string, text: string): string {
  const ofOrder = `select command_id from public.commands where stream in ('account', 'prediction') and order_id = ${text}`;
  return [
    `select ${id}`,
    `select command_id from public.attempts where attempt_id = ${text}`,
    `select command_id from public.commands where idempotency_key = ${text}`,
    `select command_id from public.commands where caller_ref = ${text}`,
    `${ofOrder} and kind = 'place'`,
    `${ofOrder} and kind <> 'place'`,
  ].join(' union all ');
}

/** One command with everything known about it, in one snapshot. */
async function findCommand(
  pool: Pool,
  scope: AccountScope,
  commandId: string,
): Promise<CommandWithEvidence | undefined> {
  if (!isCommandId(commandId)) return undefined;
  const { rows } = await pool.query<{ command: StoredCommand; evidence: EvidenceRow[] }>({
    name: 'find_command',
    text: `select public.command_json(c) as command, (
        select coalesce(json_agg(e order by e.number), '[]')
        from (select ${evidenceColumns} from public.evidence where command_id = c.command_id) as e
      ) as evidence
      from public.commands c where c.command_id = $2 and ${inScope('c.account_id', 1)}`,
    values: [scopeParameter(scope), commandId],
  });
  const [row] = rows;
  return row && { command: decodeCommand(row.command), evidence: row.evidence.map(decodeEvidence) };
}
