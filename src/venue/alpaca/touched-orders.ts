import { z } from 'zod';
import { parseSpelledDecimal } from '../../domain/decimal.ts';
import { compareInstants, formatInstant, isInstant, msOf, respelledInstant } from '../../domain/instant.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { addressFault, queryText } from '../order-address.ts';
import type { TouchedOrder, TouchedResult } from '../order-reads.ts';
import { parseJson } from '../parse-json.ts';
import type { PlatformError } from '../platform-error.ts';
import { listFault } from '../read-list-pages.ts';
import { type Dialect, type ReadDeps, readVenue } from '../read-venue.ts';
import type { TokenSource } from '../tokens.ts';

/** 20,000 trades a day are 10 MB. */
const mostBytes = 32 * 1024 * 1024;
const dayMs = 86_400_000;
/** After fewer events than this, the next answer is for twice as many days. */
const quietEvents = 500;

/**
 * The orders with trades, busts and corrections since `after`, by the activity stream
 * (`/v2beta1/events/activities`), a day at a time, more where little happened: a year costs nine
 * requests. With an end it is one answer, no connection.
 * Alpaca's own clock gives the end: behind it the answer would wait for more to come. Its older
 * list, `/v2/account/activities`, is documented for trades alone
 * (docs/decisions/118-activities-in-each-audit.md).
 */
export async function touchedOrders(
  deps: ReadDeps,
  dialect: Dialect,
  { url, after }: { readonly url: string; readonly after: string },
  signal: AbortSignal,
): Promise<TouchedResult> {
  const clock = await readVenue(deps, dialect, { operation: 'read_clock', url: `${url}/v2/clock` }, signal);
  if (!clock.ok) return failed(clock.error);
  const now = instantOf(clockShape.safeParse(clock.value).data?.timestamp);
  if (now === undefined) return failed(listFault('BAD_ANSWER', 'the clock shows no time').error);
  const tokens = takenKey(deps.tokens);
  const touched = new Map<string, TouchedOrder>();
  let days = 1;
  for (let since = after; compareInstants(since, now) < 0; ) {
    const untilMs = msOf(since) + days * dayMs;
    const until = untilMs < msOf(now) ? formatInstant(untilMs) : now;
    const address = `${url}/v2beta1/events/activities${queryText({ since, until })}`;
    const answer = await readVenue(
      { ...deps, tokens },
      dialect,
      { operation: 'list_activities', url: address, accept: 'text/event-stream', parse: asItIs, maxBytes: mostBytes },
      signal,
    );
    if (!answer.ok) return isWithheld(answer.error) ? { kind: 'absent' } : failed(answer.error);
    const events = eventsIn(String(answer.value));
    if (events === undefined) return failed(listFault('BAD_ANSWER', 'the activities are not a whole stream').error);
    for (const event of events) note(touched, event, until);
    days = events.length < quietEvents ? 2 * days : 1;
    since = until;
  }
  return { kind: 'read', orders: [...touched.values()], upTo: now };
}

const clockShape = z.object({ timestamp: z.string() });

const asItIs = (text: string) => text;

function failed(error: PlatformError): TouchedResult {
  return { kind: 'failed', error };
}

/** It is in beta: not every key has it. */
function isWithheld({ status }: PlatformError): boolean {
  return status === 401 || status === 403 || status === 404;
}

/** The clock has just taken the key: a refusal behind it says nothing of other requests. */
function takenKey(tokens: TokenSource): TokenSource {
  return {
    requests: tokens.requests,
    get: (url) => tokens.get(url),
    renew: (_generation, url) => tokens.get(url),
    taken: (...how) => tokens.taken(...how),
    onRenewed: (callback) => tokens.onRenewed(callback),
  };
}

/** Comments about missing events. */
const isLossy = /^:.*(?:dropped|too slowly|internal server error)/im;
const isLine = /^(?::|(?:data|id|event|retry)(?::|$)|$)/;

/** The JSON of each event; undefined where it may not be all of them. */
function eventsIn(text: string): unknown[] | undefined {
  const lines = text.split(/\r\n|\r|\n/);
  // Nothing follows the last line end; an empty line before it ends an event.
  if (lines.pop() !== '' || isLossy.test(text) || !lines.every((line) => isLine.test(line))) return undefined;
  const events: unknown[] = [];
  let data = '';
  for (const line of lines) {
    if (line.startsWith('data:')) data += line.slice(5);
    if (line !== '' || data === '') continue;
    const event = jsonOrUndefined(data, parseJson);
    if (event === undefined) return undefined;
    events.push(event);
    data = '';
  }
  return data === '' ? events : undefined;
}

const unknown = z.unknown().optional();

/** Other activities (dividends, fees) name no order. */
const activity = z.object({
  at: unknown,
  executed_at: unknown,
  details: z.object({ order_id: z.string(), execution_type: unknown, cum_qty: unknown }),
});

/**
 * An order's `updated_at` is not before the time its trades have. A bust and a correction repeat
 * the time the trade had, so `at` stands for them: some milliseconds after the order's.
 */
function note(touched: Map<string, TouchedOrder>, event: unknown, until: string): void {
  const { data } = activity.safeParse(event);
  // Without an id to ask for there is no order: at the exercise of an option, say.
  if (data === undefined || addressFault(data.details.order_id) !== undefined) return;
  const { order_id: orderId, execution_type: type, cum_qty } = data.details;
  const isTrade = type === 'fill' || type === 'partial_fill';
  const at = instantOf(isTrade ? data.executed_at : data.at) ?? until;
  const before = touched.get(orderId)?.at ?? at;
  const cumQty = parseSpelledDecimal(cum_qty);
  touched.set(orderId, {
    orderId,
    at: compareInstants(at, before) < 0 ? before : at,
    ...(cumQty !== undefined && { cumQty }),
  });
}

function instantOf(text: unknown): string | undefined {
  return isInstant(text) ? text : respelledInstant(text);
}
