import type { Random } from '../../src/runtime/random.ts';
import { isRefusal, type Refusal, type Write } from '../../src/sandbox/entry/write.ts';
import type { ExchangeOrder, Stream } from '../../src/sandbox/exchange/exchange-order.ts';
import { oneOf } from '../../src/sandbox/market/instruments.ts';
import type { HttpResult } from '../../src/venue/http.ts';
import { predictionErrors } from '../../src/venue/platform/wire/error-bodies.ts';

/** What order entry answers when nothing goes wrong. */
export function plainAnswer(
  write: Write | undefined,
  result: ExchangeOrder | Refusal,
  refused: (refusal: Refusal) => HttpResult = refusal,
): HttpResult {
  if (isRefusal(result)) return refused(result);
  if (write === undefined) throw new Error('an order without a write');
  return answered(write.answer.status, write.answer.body(result));
}

export function refusal({ status, code, message, shape }: Refusal): HttpResult {
  if (shape === 'flat')
    return answered(status, JSON.stringify({ error: message, codes: [{ code, description: message }] }));
  const type = (predictionErrors as Readonly<Record<string, { readonly type: string }>>)[code]?.type ?? 'any';
  const error = { code, message, type };
  return answered(status, JSON.stringify(shape === 'prediction' ? { success: false, error } : { error }));
}

export const unauthorized: HttpResult = answered(
  401,
  '{"error":{"type":"authentication","code":"UNAUTHENTICATED","message":"no"}}',
);

/** The documented word that nothing was sent. */
export function nothingSent(random: Random): HttpResult {
  const [status, code, type] = oneOf(random, [
    [429, 'ORDER_ENTRY_AT_CAPACITY', 'rate_limit'],
    [503, 'ORDER_ENTRY_UNAVAILABLE', 'unavailable'],
  ] as const);
  return answered(status, JSON.stringify({ success: false, error: { code, message: 'nothing was sent', type } }));
}

export const hangs = 'hangs';

/**
 * Answers from which nothing can be concluded: each was once sent for a write that had been done.
 * `body`: the right one, when there is one.
 */
export function spoiledAnswer(
  random: Random,
  stream: Stream,
  body: string | undefined,
  other: string | undefined,
): HttpResult | typeof hangs {
  const unknown =
    '{"success":false,"error":{"code":"REQUEST_OUTCOME_UNKNOWN","message":"it may have reached the venue","type":"timeout"}}';
  const html = '<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>';
  // The documented word of prediction order entry, in a body that is not its own, or on a path
  // where it is no word at all.
  const claim = stream === 'prediction' ? 'RATE_LIMITED' : 'ORDER_ENTRY_AT_CAPACITY';
  const answers: (HttpResult | typeof hangs)[] = [
    hangs,
    broken('reset'),
    broken('torn'),
    answered(504, unknown),
    answered(504, ''),
    answered(408, ''),
    answered(500, ''),
    answered(502, html),
    answered(200, html),
    answered(302, ''),
    answered(429, JSON.stringify({ success: false, error: { code: claim, message: 'busy', type: 'rate_limit' } })),
    answered(503, '{"error":"Upstream unavailable"}'),
    answered(404, html),
    answered(409, html),
    ...(body === undefined ? [] : [answered(202, body.slice(0, body.length >> 1))]),
    ...(other === undefined ? [] : [answered(stream === 'prediction' ? 202 : 200, other)]),
  ];
  return oneOf(random, answers);
}

export function broken(message: string): HttpResult {
  return { kind: 'failed', code: 'broken', message, sent: 'maybe' };
}

function answered(status: number, text: string): HttpResult {
  return { kind: 'answered', status, headers: {}, text };
}
