import { isDeepStrictEqual } from 'node:util';
import type { Stream } from '../../domain/order.ts';
import { addressFault, queryText } from '../order-address.ts';
import type {
  AccountsResult,
  GetResult,
  ListRequest,
  ListResult,
  OrderReads,
  Page,
  PlatformAccount,
} from '../order-reads.ts';
import { badAnswer } from '../platform-error.ts';
import { listFault, readListPages } from '../read-list-pages.ts';
import type { ReadDeps } from '../read-venue.ts';
import { CursorCircle } from './cursor-circle.ts';
import { readPlatform } from './read-platform.ts';
import { ordersPath, pageLimit, predictionOrdersPath, rawPage, rawPredictionAnswer } from './wire/order-pages.ts';
import {
  accountItems,
  accountsMaxBytes,
  accountsPath,
  permitsPlacing,
  readAccountItem,
  type UserAccount,
} from './wire/user.ts';

interface PlatformAddresses {
  /**
   * Production's REST base, without a trailing slash: accounts, equity and option orders, tokens.
   */
  readonly platformUrl: string;
  /** The prediction endpoints' REST base. */
  readonly stagingUrl: string;
}

/**
 * `OrderReads` over HTTP: prediction orders from staging, everything else from production
 * (specification, "Versioning").
 */
export function platformReads(deps: ReadDeps, { platformUrl, stagingUrl }: PlatformAddresses): OrderReads {
  const baseOf = (stream: Stream) => (stream === 'prediction' ? stagingUrl : platformUrl);
  return {
    listOrders: (request, onPage, signal, budget) =>
      listOrders({ ...deps, budget }, baseOf(request.stream), request, onPage, signal),
    getOrder: (stream, accountId, orderId, signal, budget) =>
      getOrder({ ...deps, budget }, baseOf(stream), stream, accountId, orderId, signal),
    listAccounts: (signal) => listAccounts(deps, platformUrl, signal),
  };
}

/**
 * One order (docs/platform-assumptions.md: `GET /v1/orders/{ordId}`, `GET
 * /v1/predictions/orders/{orderId}`).
 */
export async function getOrder(
  deps: ReadDeps,
  baseUrl: string,
  stream: Stream,
  accountId: string,
  orderId: string,
  signal: AbortSignal,
): Promise<GetResult> {
  const fault = addressFault(orderId);
  if (fault !== undefined) return { kind: 'failed', error: fault };
  const path = stream === 'prediction' ? predictionOrdersPath : ordersPath;
  const url = `${baseUrl}${path}/${encodeURIComponent(orderId)}${queryText({ accountId })}`;
  const answer = await readPlatform(deps, 'get_order', url, signal);
  if (!answer.ok) return answer.error.status === 404 ? { kind: 'absent' } : { kind: 'failed', error: answer.error };
  const row = stream === 'prediction' ? rawPredictionAnswer.safeParse(answer.value).data?.data : answer.value;
  if (typeof row === 'object' && row !== null) return { kind: 'found', row, bytes: answer.bytes };
  return { kind: 'failed', error: badAnswer('the order has another shape than the contract says') };
}

/**
 * A page may be empty where the platform looks for our rows among others'. So many in a row are an
 * end.
 */
const maxEmptyPages = 200;

/**
 * All pages with one account's orders (docs/platform-assumptions.md: `GET /v1/orders`, `GET
 * /v1/predictions/orders`), oldest change first. A row may come twice: an order that changes during
 * the read moves to the end.
 */
async function listOrders(
  deps: ReadDeps,
  baseUrl: string,
  request: ListRequest,
  onPage: (page: Page) => Promise<void>,
  signal: AbortSignal,
): Promise<ListResult> {
  const read = (cursor: string | undefined) =>
    readPlatform(deps, 'list_orders', address(baseUrl, request, cursor), signal);
  const pageOf = (answer: unknown) => {
    const body = request.stream === 'prediction' ? rawPredictionAnswer.safeParse(answer).data?.data : answer;
    const page = rawPage.safeParse(body).data;
    return page && { rows: page.orders, nextCursor: page.nextCursor };
  };
  return readListPages({ first: undefined, read, pageOf, nextOf: cursorsInOrder() }, onPage, signal);
}

/** Where each page goes on, unless the pages go round in a circle. */
function cursorsInOrder() {
  const circle = new CursorCircle();
  let before: readonly unknown[] = [];
  let empty = 0;
  return ({ rows, nextCursor }: { readonly rows: readonly unknown[]; readonly nextCursor?: string | undefined }) => {
    if (nextCursor === undefined) return undefined;
    if (circle.closes(nextCursor)) return listFault('LOOP', 'the list hands out the same cursor again');
    // Cursors that always differ, in front of one page.
    if (rows.length > 0 && isDeepStrictEqual(rows, before))
      return listFault('LOOP', 'the list hands out the same page again');
    empty = rows.length === 0 ? empty + 1 : 0;
    if (empty > maxEmptyPages) return listFault('LOOP', 'the list goes on with empty pages, each with a new cursor');
    before = rows;
    return { cursor: nextCursor };
  };
}

function address(baseUrl: string, request: ListRequest, cursor: string | undefined): string {
  const prediction = request.stream === 'prediction';
  const query = queryText({
    accountId: request.accountId,
    limit: String(request.pageRows ?? pageLimit.max),
    [prediction ? 'state' : 'status']: request.state,
    updatedAfter: request.after,
    [prediction ? 'clientOrderRef' : 'clOrdId']: request.reference,
    cursor,
  });
  return `${baseUrl}${prediction ? predictionOrdersPath : ordersPath}${query}`;
}

/** List items read in one go: 5 ms. 100,000 at once would hold up every frame for a second. */
const itemsAtOnce = 500;

/**
 * The accounts the token may see, in every status (specification, "GET /v2/users/me/accounts"). One
 * that two users share may be listed twice. It is open only if both say so, and simulated likewise:
 * an item that says nothing about it takes no part.
 */
export async function listAccounts(deps: ReadDeps, baseUrl: string, signal: AbortSignal): Promise<AccountsResult> {
  const answer = await readPlatform(deps, 'list_accounts', `${baseUrl}${accountsPath}`, signal, {
    maxBytes: accountsMaxBytes,
  });
  if (!answer.ok) return { complete: false, error: answer.error };
  const body = accountItems.safeParse(answer.value);
  if (!body.success)
    return { complete: false, error: badAnswer('the accounts have another shape than the specification says') };
  const accounts = new Map<string, PlatformAccount>();
  let unreadable = 0;
  for (const [at, item] of body.data.accounts.entries()) {
    if (at % itemsAtOnce === itemsAtOnce - 1) await deps.clock.turn();
    const read = readAccountItem(item);
    if (read === undefined) {
      unreadable += 1;
      continue;
    }
    const account = platformAccount(read);
    const other = accounts.get(account.accountId);
    if (other === undefined) accounts.set(account.accountId, account);
    else accounts.set(account.accountId, stricterOf(other, account));
  }
  return { complete: true, accounts: [...accounts.values()], ...(unreadable > 0 && { unreadable }) };
}

function stricterOf(one: PlatformAccount, other: PlatformAccount): PlatformAccount {
  const stricter = one.isOpen ? other : one;
  const isSim = one.isSim === false ? false : (other.isSim ?? one.isSim);
  return { ...stricter, ...(isSim !== undefined && { isSim }) };
}

function platformAccount({ trading_account_id: accountId, status: word, is_sim: isSim }: UserAccount): PlatformAccount {
  const status = word.trim();
  return {
    ...{ accountId, isOpen: permitsPlacing(status) },
    ...(isSim !== undefined && { isSim }),
    ...(status !== '' && { status }),
  };
}
