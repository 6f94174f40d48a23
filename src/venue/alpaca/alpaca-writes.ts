import { z } from 'zod';
import {
  type AccountPlaceTerms,
  type CommandRequest,
  makesOrder,
  platformCurrency,
  type ReplaceTerms,
} from '../../domain/command.ts';
import { orderWord } from '../../domain/order.ts';
import type { WholeAnswer } from '../judge-write.ts';
import { reasonOf } from '../platform-error.ts';
import { type Fields, wordTable } from '../row-reader.ts';
import { notSent, type WriteAnswer } from '../write-result.ts';
import { orderWrites } from '../write-venue.ts';
import { alpacaDialect, withoutMessage } from './alpaca-reads.ts';

const ordersPath = '/v2/orders';

/**
 * The body of `POST /v2/orders` (Alpaca's OpenAPI 2.0.1, `PostOrderRequest`), as far as our terms
 * have its fields. `client_order_id`: the attempt. Alpaca takes each one once, and finds the order
 * by it for ever.
 */
const orderBody = z.strictObject({
  symbol: z.string().min(1),
  qty: z.string(),
  side: z.enum(['buy', 'sell']),
  type: z.enum(['market', 'limit', 'stop', 'stop_limit']),
  time_in_force: z.enum(['day', 'gtc', 'opg', 'cls', 'ioc', 'fok']),
  limit_price: z.string().optional(),
  stop_price: z.string().optional(),
  extended_hours: z.literal(true).optional(),
  position_intent: z.enum(['buy_to_open', 'buy_to_close', 'sell_to_open', 'sell_to_close']).optional(),
  client_order_id: z.string().min(1).max(128),
});

/**
 * The body of `PATCH /v2/orders/{order_id}` (`PatchOrderRequest`). The order that it makes has our
 * reference, so it is found as that of a place is.
 */
const replaceBody = z.strictObject({
  qty: z.string().optional(),
  limit_price: z.string().optional(),
  stop_price: z.string().optional(),
  time_in_force: orderBody.shape.time_in_force.optional(),
  client_order_id: orderBody.shape.client_order_id,
});

/** A plain sale may close a position or open one: Alpaca then looks at the account. */
const intents = wordTable({ sell_short: 'sell_to_open', buy_to_cover: 'buy_to_close' });

function prepareWrite(request: CommandRequest, attemptId: string, id: string) {
  if (request.stream !== 'alpaca' && request.stream !== 'alpaca_paper')
    return notSent('INVALID_REQUEST', `Alpaca has no stream ${request.stream}`);
  if (request.kind === 'place') {
    const body = orderBody.safeParse(bodyOf(request.terms, attemptId));
    return { method: 'POST', path: ordersPath, body } as const;
  }
  const path = `${ordersPath}/${id}`;
  if (request.kind === 'cancel') return { method: 'DELETE', path } as const;
  return { method: 'PATCH', path, body: replaceBody.safeParse(replacementOf(request.terms, attemptId)) } as const;
}

function replacementOf(terms: ReplaceTerms, attemptId: string): Fields {
  const { quantity, price, stopPx, timeInForce, ...others } = terms;
  return {
    qty: quantity,
    limit_price: price,
    stop_price: stopPx,
    time_in_force: timeInForce,
    client_order_id: attemptId,
    ...others,
  };
}

/** Terms that Alpaca has no field for stay in it: the shape refuses them by name. */
function bodyOf(terms: AccountPlaceTerms, attemptId: string): Fields {
  const {
    symbol,
    side,
    type,
    qty,
    timeInForce,
    price,
    stopPrice,
    currency,
    extendedHours,
    legs = [],
    ...others
  } = terms;
  const [leg, ...more] = legs;
  const word = orderWord(leg?.side ?? side);
  const direction = word.split('_', 1)[0];
  const intent = leg?.positionEffect ? `${direction}_to_${orderWord(leg.positionEffect)}` : intents.get(word);
  const isPlain = more.length === 0 && (leg === undefined || leg.ratioQty === '1');
  return {
    symbol: leg?.symbol ?? symbol,
    qty,
    side: direction,
    type: orderWord(type),
    time_in_force: orderWord(timeInForce),
    ...(price !== undefined && { limit_price: price }),
    ...(stopPrice !== undefined && { stop_price: stopPrice }),
    ...(extendedHours && { extended_hours: true }),
    ...(intent !== undefined && { position_intent: intent }),
    client_order_id: attemptId,
    ...(currency !== undefined && currency !== platformCurrency && { currency }),
    ...(!isPlain && { legs }),
    ...others,
  };
}

/** The reference is the attempt's id. */
export const {
  prepare: prepareAlpacaWrite,
  judge: judgeAlpacaWrite,
  write: writeAlpacaOrder,
} = orderWrites({
  dialect: alpacaDialect,
  prepare: prepareWrite,
  // Only our own reference says that the order is ours.
  names: {
    orderId: 'id',
    reference: 'client_order_id',
    evidence: [
      ...[
        'id',
        'client_order_id',
        'status',
        'symbol',
        'side',
        'type',
        'qty',
        'filled_qty',
        'limit_price',
        'stop_price',
      ],
      ...['submitted_at', 'updated_at'],
    ],
  },
  success: (answer, request) => (makesOrder(request) ? undefined : asked(answer)),
  reason: ({ status, body }) => {
    const { code, message = withoutMessage(status) } = errorBody.safeParse(body).data ?? {};
    return reasonOf({ status, message, ...(code !== undefined && { code }) });
  },
  documented: (answer, reason, request) => (isRefusal(request, answer) ? { kind: 'refused', reason } : undefined),
});

/** 204 without a body: the cancel was asked for, and the order shows if it happens. */
function asked({ status, text }: WholeAnswer): WriteAnswer | string {
  return status === 204 && text === '' ? { kind: 'accepted', answer: {} } : 'the answer is not the documented 204';
}

/**
 * A number of eight digits, and a sentence. Its first three digits need not be the status. A wrong
 * key is answered with the sentence alone.
 */
const errorBody = z.looseObject({
  code: z
    .preprocess((value) => (typeof value === 'number' ? String(value) : value), z.string().regex(/^4\d{7}$/))
    .optional()
    .catch(undefined),
  message: z.string().min(1),
});

/**
 * 400 and 422 refuse a place and a replace; 404 and 422 a replace and a cancel. No other status
 * promises that nothing was done, not even 429: the official SDK sends again after it, but also
 * after 504, which promises nothing. The order is found by its `client_order_id` in any case.
 */
const refusals = {
  place: new Set([400, 422]),
  replace: new Set([400, 404, 422]),
  cancel: new Set([404, 422]),
} as const;

function isRefusal({ kind }: CommandRequest, { status, body }: WholeAnswer): boolean {
  const error = errorBody.safeParse(body).data;
  if (error?.code === undefined || !refusals[kind].has(status)) return false;
  return !namesAnOrder[kind].test(error.message);
}

/**
 * "client_order_id must be unique" has the code of any bad request (40010001), and has been worded
 * in more than one way. It is evidence that an order has our reference, so it refuses nothing: one
 * word too many here leaves a result unknown until the order is looked for.
 */
const namesAnOrder = {
  place: /client.?order.?id|unique|duplicate|already/i,
  // "order is already in filled state" is about the other one.
  replace: /client.?order.?id|unique|duplicate/i,
  cancel: /^$/,
} as const;
