import { z } from 'zod';
import { formatInstant, parseInstant } from '../../domain/instant.ts';
import { isPlatformId } from '../../domain/platform-id.ts';
import { queryText } from '../order-address.ts';
import type { ListRequest, ListResult, OrderReads, Page } from '../order-reads.ts';
import { answeredError, type PlatformError } from '../platform-error.ts';
import { listFault, readListPages } from '../read-list-pages.ts';
import { accountsByUrl, type Dialect, orderByUrl, type ReadDeps, readOrderAt, readVenue } from '../read-venue.ts';
import { signRequest } from './key-source.ts';
import { touchedOrders } from './touched-orders.ts';

export const alpacaDialect: Dialect = { sign: signRequest, errorOf };

/** A refusal is `{"code": 40410000, "message": "…"}` (Alpaca's documents, "API Responses"). */
const refusal = z.object({ code: z.union([z.number(), z.string()]), message: z.string() }).partial();

function errorOf(status: number, body: unknown, retryAfterMs: number): PlatformError {
  const { code, message } = refusal.safeParse(body).data ?? {};
  const ours = message === undefined ? 'BAD_ANSWER' : undefined;
  return answeredError(
    status,
    { code: code === undefined ? ours : String(code), message: message ?? withoutMessage(status) },
    retryAfterMs,
  );
}

/** It may be a proxy's answer. */
export function withoutMessage(status: number): string {
  return `the answer has status ${status}, and no message of Alpaca`;
}

interface AlpacaReadOptions {
  /** The base of the trading API, without a version and without a trailing slash. */
  readonly url: string;
  /** The account has no money in it. */
  readonly isPaper: boolean;
}

/**
 * `OrderReads` over Alpaca's trading API (OpenAPI 2.0.1). A key pair has one account, so no request
 * names it. Lists go by creation.
 */
export function alpacaReads(deps: ReadDeps, { url, isPaper }: AlpacaReadOptions): OrderReads {
  return {
    listOrders: (request, onPage, signal, budget) => listOrders({ ...deps, budget }, url, request, onPage, signal),
    getOrder: orderByUrl(deps, alpacaDialect, (_stream, _accountId, id) => `${url}/v2/orders/${id}`),
    listAccounts: (signal) =>
      accountsByUrl(deps, alpacaDialect, { url: `${url}/v2/account` }, (answer) => accountIn(answer, isPaper), signal),
    touchedOrders: ({ after }, signal, budget) =>
      touchedOrders({ ...deps, budget }, alpacaDialect, { url, after }, signal),
  };
}

/** Alpaca's own bound. */
const mostRows = 500;

const pageShape = z.array(z.unknown());

async function listOrders(
  deps: ReadDeps,
  base: string,
  request: ListRequest,
  onPage: (page: Page) => Promise<void>,
  signal: AbortSignal,
): Promise<ListResult> {
  if (request.reference !== undefined) return listByReference(deps, base, request.reference, onPage, signal);
  const { state, after, pageRows: limit = mostRows } = request;
  const read = (cursor: Cursor) => {
    // With the legs of each order beside it, as orders of their own.
    const query = queryText({
      status: state,
      direction: 'asc',
      limit: cursor.limit,
      nested: false,
      after: cursor.after,
    });
    return readVenue(deps, alpacaDialect, { operation: 'list_orders', url: `${base}/v2/orders${query}` }, signal);
  };
  return readListPages({ first: { limit, after }, read, pageOf, nextOf }, onPage, signal);
}

interface Cursor {
  readonly limit: number;
  readonly after: string | undefined;
}

function pageOf(answer: unknown): Pick<Page, 'rows'> | undefined {
  const rows = pageShape.safeParse(answer).data;
  return rows && { rows };
}

function nextOf({ rows }: Pick<Page, 'rows'>, { limit, after }: Cursor) {
  if (rows.length < limit) return undefined;
  const next = justBefore(rows.at(-1));
  if (next === undefined) return listFault('BAD_ANSWER', 'the last order of a page has no time');
  if (after === undefined || Date.parse(next) > Date.parse(after)) return { cursor: { limit, after: next } };
  // Orders that share their time need a page for all of them.
  return limit < mostRows
    ? { cursor: { limit: mostRows, after } }
    : listFault('LOOP', 'the list hands out the same page again');
}

/**
 * `after` is exclusive, and orders may share their time: a page begins a millisecond before the
 * last row above it. A row shown twice changes nothing.
 */
function justBefore(row: unknown): string | undefined {
  const { submitted_at, created_at } = rowTimes.safeParse(row).data ?? {};
  const nanos = parseInstant(submitted_at ?? created_at);
  return nanos === undefined ? undefined : formatInstant(Number(nanos / 1_000_000n) - 1);
}

const rowTimes = z.object({ submitted_at: z.string().nullish(), created_at: z.string().nullish() });

/** A list of one, or none: the look-up by our own id is exact. */
async function listByReference(
  deps: ReadDeps,
  base: string,
  reference: string,
  onPage: (page: Page) => Promise<void>,
  signal: AbortSignal,
): Promise<ListResult> {
  const query = queryText({ client_order_id: reference });
  const found = await readOrderAt(deps, alpacaDialect, `${base}/v2/orders:by_client_order_id${query}`, signal);
  if (found.kind === 'failed') return { complete: false, error: found.error };
  if (found.kind === 'absent') return { complete: true, rows: 0 };
  await onPage({ rows: [found.row], bytes: found.bytes });
  return { complete: true, rows: 1 };
}

const flag = z.unknown().optional();

const accountShape = z.object({
  account_number: z.union([z.string(), z.number()]).transform(String),
  status: z.string().optional().catch(undefined),
  trading_blocked: flag,
  account_blocked: flag,
  trade_suspended_by_user: flag,
});

/** The one account of the key pair, by the number that people know it by. */
function accountIn(answer: unknown, isPaper: boolean) {
  const { data: account } = accountShape.safeParse(answer);
  if (account === undefined || !isPlatformId(account.account_number)) return undefined;
  const { account_number: accountId, status, ...flags } = account;
  // A flag that can't be read permits nothing.
  const isOpen = status === 'ACTIVE' && Object.values(flags).every((raised) => (raised ?? false) === false);
  return { accounts: [{ accountId, isOpen, isSim: isPaper, ...(status !== undefined && { status }) }] };
}
