import type { Random } from '../../../src/runtime/random.ts';
import {
  cancelAlpacaOrder,
  placeAlpacaOrder,
  replaceAlpacaOrder,
} from '../../../src/sandbox/alpaca/alpaca-order-writes.ts';
import { readPatch, readPlace } from '../../../src/sandbox/alpaca/read-alpaca-order.ts';
import { MemberFault } from '../../../src/sandbox/entry/request-members.ts';
import type { EntryDeps, Refusal, Write } from '../../../src/sandbox/entry/write.ts';
import { oneOf } from '../../../src/sandbox/market/instruments.ts';
import type { HttpResult } from '../../../src/venue/http.ts';
import type { WriteRequest } from '../../../src/venue/write-result.ts';
import { broken, hangs } from '../write-answers.ts';
import { callerOf, failure, ordersPath, reply } from './alpaca-rest.ts';
import type { SimulatedEntry } from './simulated-venue.ts';

const refused = (status: number, code: number, message: string): Refusal => ({
  ...{ refused: true, status, code: String(code), message, shape: 'alpaca' },
});

/** Place, replace and cancel. */
export const alpacaEntry: SimulatedEntry = {
  isGood: ({ headers }, tokens) => headers['apca-api-key-id'] !== undefined && !tokens.loginRequired,
  unauthorized: reply(401, '{"message":"request is not authorized"}'),
  understand,
  refusal: ({ status, code, message }) => failure(status, Number(code), message),
  spoiled,
};

function understand(deps: EntryDeps, { method, url, headers, body }: WriteRequest): Write | Refusal {
  const account = callerOf(headers, deps.exchange);
  const { pathname } = new URL(url);
  if (account === undefined) return refused(403, 40310000, 'forbidden.');
  const orderId = decodeURIComponent(pathname.slice(ordersPath.length + 1));
  if (method === 'DELETE') return cancelAlpacaOrder(deps, account, orderId);
  const bytes = Buffer.from(body ?? '');
  try {
    return method === 'PATCH'
      ? replaceAlpacaOrder(deps, account, orderId, readPatch(bytes))
      : placeAlpacaOrder(deps, account, readPlace(bytes));
  } catch (error) {
    if (!(error instanceof MemberFault)) throw error;
    return refused(422, 40010001, error.message);
  }
}

/**
 * Each was, or may be, once sent for a write that had been done: 429 too, and "must be unique" by a
 * gateway that sent the write on a second time.
 */
function spoiled(
  random: Random,
  asked: Write,
  { body, other }: { readonly body: string | undefined; readonly other: string | undefined },
): HttpResult | typeof hangs {
  const html = '<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>';
  const isPlace = asked.kind !== 'cancel';
  const answers: (HttpResult | typeof hangs)[] = [
    hangs,
    broken('reset'),
    broken('torn'),
    failure(504, 50410000, 'gateway timeout'),
    reply(504, ''),
    reply(408, ''),
    failure(500, 50010000, 'internal server error occurred'),
    reply(502, html),
    reply(200, html),
    reply(302, ''),
    reply(429, '{"message":"too many requests."}'),
    failure(429, 42910000, 'too many requests.'),
    reply(503, html),
    reply(404, html),
    reply(422, html),
    reply(200, ''),
    ...(isPlace ? [failure(422, 40010001, 'client_order_id must be unique'), reply(204, '')] : []),
    ...(isPlace && body !== undefined ? [reply(200, body.slice(0, body.length >> 1))] : []),
    ...(isPlace && other !== undefined ? [reply(200, other)] : []),
  ];
  return oneOf(random, answers);
}
