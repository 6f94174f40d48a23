import type { Stream } from '../../domain/order.ts';
import type { Clock } from '../../runtime/clock.ts';
import { queryText } from '../order-address.ts';
import type { AccountsResult, ListRequest, OrderReads, PlatformAccount } from '../order-reads.ts';
import { listByCursor } from '../read-list-pages.ts';
import { accountsByUrl, orderByUrl, type ReadDeps } from '../read-venue.ts';
import { platformDialect } from './read-platform.ts';
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
    listOrders: listByCursor(
      deps,
      platformDialect,
      (request, cursor) => listUrl(baseOf(request.stream), request, cursor),
      ({ stream }) => (stream === 'prediction' ? predictionPage : page),
    ),
    getOrder: orderByUrl(
      deps,
      platformDialect,
      (stream, accountId, id) => {
        // docs/platform-assumptions.md: `GET /v1/orders/{ordId}` and its like for predictions.
        return `${baseOf(stream)}${pathOf(stream)}/${id}${queryText({ accountId })}`;
      },
      contentOf,
    ),
    listAccounts: (signal) => listAccounts(deps, platformUrl, signal),
  };
}

function pathOf(stream: Stream): string {
  return stream === 'prediction' ? predictionOrdersPath : ordersPath;
}

/** Without the envelope that prediction answers have. */
function contentOf(answer: unknown, stream: Stream): unknown {
  return stream === 'prediction' ? rawPredictionAnswer.safeParse(answer).data?.data : answer;
}

const page = rawPage.transform(({ orders, nextCursor }) => ({ rows: orders, nextCursor }));
const predictionPage = rawPredictionAnswer.transform(({ data }) => data).pipe(page);

/**
 * A page with one account's orders (docs/platform-assumptions.md: `GET /v1/orders`, `GET
 * /v1/predictions/orders`), oldest change first. A row may come twice: an order that changes during
 * the read moves to the end.
 */
function listUrl(baseUrl: string, request: ListRequest, cursor: string | undefined): string {
  const prediction = request.stream === 'prediction';
  const query = queryText({
    accountId: request.accountId,
    limit: String(request.pageRows ?? pageLimit.max),
    [prediction ? 'state' : 'status']: request.state,
    updatedAfter: request.after,
    [prediction ? 'clientOrderRef' : 'clOrdId']: request.reference,
    cursor,
  });
  return `${baseUrl}${pathOf(request.stream)}${query}`;
}

/** List items read in one go: 5 ms. 100,000 at once would hold up every frame for a second. */
const itemsAtOnce = 500;

/**
 * The accounts the token may see, in every status (specification, "GET /v2/users/me/accounts"). One
 * that two users share may be listed twice. It is open only if both say so, and simulated likewise:
 * an item that says nothing about it takes no part.
 */
export function listAccounts(deps: ReadDeps, baseUrl: string, signal: AbortSignal): Promise<AccountsResult> {
  const read = { url: `${baseUrl}${accountsPath}`, maxBytes: accountsMaxBytes };
  return accountsByUrl(deps, platformDialect, read, (answer) => accountsIn(answer, deps.clock), signal);
}

async function accountsIn(answer: unknown, clock: Clock) {
  const body = accountItems.safeParse(answer);
  if (!body.success) return undefined;
  const accounts = new Map<string, PlatformAccount>();
  let unreadable = 0;
  for (const [at, item] of body.data.accounts.entries()) {
    if (at % itemsAtOnce === itemsAtOnce - 1) await clock.turn();
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
  return { accounts: [...accounts.values()], ...(unreadable > 0 && { unreadable }) };
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
