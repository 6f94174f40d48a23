import type { ListRequest, ListResult, Page } from './order-reads.ts';
import type { PlatformError } from './platform-error.ts';
import { type ReadDeps, readPlatform } from './read-platform.ts';
import { ordersPath, pageLimit, predictionOrdersPath, rawPage } from './wire/order-pages.ts';
import { rawPredictionAnswer } from './wire/prediction-envelope.ts';

/** A list that goes on beyond this, 500 rows a page, is a cursor that does not move rather than an account. */
const maxPages = 20_000;

/**
 * All pages of one account's orders (docs/platform-assumptions.md: `GET /v1/orders`, `GET /v1/predictions/orders`), oldest change first. A row may come twice: an order that changes
 * during the read moves to the end.
 */
export async function listOrders(
  deps: ReadDeps,
  baseUrl: string,
  request: ListRequest,
  onPage: (page: Page) => Promise<void>,
  signal: AbortSignal,
): Promise<ListResult> {
  let cursor: string | undefined;
  let rows = 0;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const answer = await readPlatform(deps, 'list_orders', address(baseUrl, request, cursor), signal);
    if (!answer.ok) return { complete: false, error: answer.error };
    const body = request.stream === 'prediction' ? rawPredictionAnswer.safeParse(answer.value).data?.data : answer.value;
    const page = rawPage.safeParse(body);
    if (!page.success) return incomplete('BAD_ANSWER', 'the list has another shape than the contract says', true);
    await onPage({ rows: page.data.orders, bytes: answer.bytes });
    rows += page.data.orders.length;
    if (signal.aborted) return incomplete('NO_ANSWER', 'given up by the caller', true);
    if (page.data.nextCursor === undefined) return { complete: true, rows };
    if (page.data.nextCursor === cursor) return incomplete('LOOP', 'the list hands out the same cursor again', true);
    cursor = page.data.nextCursor;
  }
  return incomplete('LOOP', `the list has more than ${maxPages} pages`, false);
}

function address(baseUrl: string, request: ListRequest, cursor: string | undefined): string {
  const prediction = request.stream === 'prediction';
  const query = new URLSearchParams({ accountId: request.accountId, limit: String(request.pageRows ?? pageLimit.max) });
  query.set(prediction ? 'state' : 'status', request.state);
  if (request.updatedAfter !== undefined) query.set('updatedAfter', request.updatedAfter);
  if (request.reference !== undefined) query.set(prediction ? 'clientOrderRef' : 'clOrdId', request.reference);
  if (cursor !== undefined) query.set('cursor', cursor);
  return `${baseUrl}${prediction ? predictionOrdersPath : ordersPath}?${query}`;
}

function incomplete(code: string, message: string, retryable: boolean): ListResult {
  const error: PlatformError = { code, message, retryable, sent: 'yes' };
  return { complete: false, error };
}
