import { parseInstant } from '../../domain/instant.ts';
import type { Fields } from '../entry/request-members.ts';
import type { ExchangeAccount, ExchangeOrder } from '../exchange/exchange-order.ts';
import { averagePrice, formatFixed, instantText, type Micros } from '../exchange/wire-text.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import {
  executionId,
  executionOf,
  nanosOf,
  nanosText,
  sideWord,
  statusWord,
  symbolOf,
  uuidOf,
} from './alpaca-words.ts';

/** A trade, or its bust or correction. `text`: as it was shown then. */
interface Activity {
  readonly at: Micros;
  readonly order: ExchangeOrder;
  readonly eventId: string;
  readonly executedAt: string;
  readonly text: string;
}

const kept = new WeakMap<ExchangeAccount, Activity[]>();
const mostKept = 100_000;

/** To be called after each change in the exchange. Only executions are activities. */
export function noteActivity(order: ExchangeOrder, step: string): void {
  const execution = executionOf(order, step);
  if (execution === undefined) return;
  const { account } = order.terms;
  const activities = kept.get(account) ?? [];
  kept.set(account, activities);
  activities.push(activityOf(order, execution, activities));
  if (activities.length > mostKept * 1.1) activities.splice(0, activities.length - mostKept);
}

/** As Alpaca's documents show one ("Activities", event samples). */
function activityOf(order: ExchangeOrder, execution: string, before: readonly Activity[]): Activity {
  const { terms, updatedAt: at, cumQty, lastQuantity, lastPrice } = order;
  const isTrade = execution.endsWith('fill');
  // What is taken back or corrected keeps the time of its trade.
  const trade = isTrade ? undefined : before.findLast((each) => each.order === order);
  const executedAt = isTrade ? nanosText(at) : (trade?.executedAt ?? nanosText(order.createdAt));
  const eventId = ulidOf(at);
  const text = JSON.stringify({
    account_id: uuidOf(terms.account.id),
    event_id: eventId,
    ref_id: executionId(order),
    ...(isTrade ? {} : { previous_id: trade === undefined ? uuidOf(terms.orderId) : executionIdAt(trade) }),
    activity_type: 'TRD',
    qty: formatFixed(isTrade ? lastQuantity : cumQty),
    price: formatFixed(isTrade || cumQty === 0n ? lastPrice : averagePrice(order.notional, cumQty)),
    currency: 'USD',
    status: 'executed',
    at: nanosText(at),
    executed_at: executedAt,
    settle_date: instantText(at).slice(0, 10),
    details: {
      asset_id: uuidOf(symbolOf(order)),
      order_id: terms.orderId,
      client_order_id: terms.clOrdId,
      side: sideWord(order),
      order_status: statusWord(order),
      execution_type: execution,
      symbol: symbolOf(order),
      cum_qty: formatFixed(cumQty),
      leaves_qty: formatFixed(order.workingQuantity > cumQty ? order.workingQuantity - cumQty : 0n),
    },
  });
  return { at, order, eventId, executedAt, text };
}

function executionIdAt({ order, at }: Activity): string {
  return executionId({ terms: order.terms, updatedAt: at });
}

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Ten digits of the millisecond, three of the microsecond, and the others made up. */
function ulidOf(at: Micros): string {
  let time = '';
  for (let left = Math.floor(at / 1000); time.length < 10; left = Math.floor(left / 32))
    time = `${digits[left % 32]}${time}`;
  const made = uuidOf(String(at)).replaceAll('-', '').slice(0, 13).toUpperCase();
  return `${time}${String(at % 1000).padStart(3, '0')}${made}`;
}

/** Which activities are asked for. Those after `since` or `sinceId`, up to the other bound. */
interface ActivitiesQuery {
  readonly since: bigint | undefined;
  readonly until: bigint | undefined;
  readonly sinceId: string | undefined;
  readonly untilId: string | undefined;
}

const known = new Set(['since', 'until', 'since_id', 'until_id']);

/** Reads it, or says the fault (Alpaca's OpenAPI 2.0.1, "Subscribe to Activity Events"). */
export function readActivitiesQuery(query: Fields): ActivitiesQuery | { fault: string } {
  for (const [name, value] of Object.entries(query))
    if (typeof value !== 'string' || !known.has(name)) return { fault: `query parameter ${name} is not emulated` };
  const { since, until, since_id: sinceId, until_id: untilId } = query as Readonly<Record<string, string>>;
  if (since !== undefined && sinceId !== undefined) return { fault: 'since and since_id cannot be used together' };
  if ((until !== undefined && since === undefined) || (untilId !== undefined && sinceId === undefined))
    return { fault: 'until requires since, and until_id requires since_id' };
  if (until === undefined && untilId === undefined) return { fault: 'a stream without an end is not emulated' };
  const [from, to] = [since, until].map((at) => (at === undefined ? undefined : parseInstant(at.replace(' ', '+'))));
  if ((since !== undefined && from === undefined) || (until !== undefined && to === undefined))
    return { fault: 'since and until must be RFC 3339 instants' };
  return { since: from, until: to, sinceId, untilId };
}

/** The stream of events (SSE) between the bounds, as a whole: it ends there. */
export function streamActivities(
  { exchange, concealments }: Pick<SandboxParts, 'exchange' | 'concealments'>,
  account: ExchangeAccount,
  { since, until, sinceId, untilId }: ActivitiesQuery,
  lagMs: number,
): string {
  const asOf = exchange.asOf(lagMs);
  const shown = (kept.get(account) ?? []).filter(
    ({ at, order, eventId }) =>
      at <= asOf &&
      !concealments.hides(order) &&
      (since === undefined || nanosOf(at) >= since) &&
      (until === undefined || nanosOf(at) <= until) &&
      (sinceId === undefined || eventId > sinceId) &&
      (untilId === undefined || eventId <= untilId),
  );
  return [': connected\n\n', ...shown.map(({ eventId, text }) => `id: ${eventId}\ndata: ${text}\n\n`)].join('');
}
