import { z } from 'zod';
import type { Random } from '../../runtime/random.ts';
import {
  accountOrderSides,
  accountOrderTimesInForce,
  accountOrderTypes,
} from '../../venue/platform/wire/account-order.ts';
import {
  predictionOrderTypes,
  predictionOutcomes,
  predictionSides,
  predictionTimesInForce,
} from '../../venue/platform/wire/prediction-order.ts';
import { decimalAboveZero } from '../bounded.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeAccount, ExchangeOrder, OrderTerms } from '../exchange/exchange-order.ts';
import { acceptOrder } from '../exchange/venue-steps.ts';
import { parseFixed, whole } from '../exchange/wire-text.ts';
import type { Market } from '../market/market.ts';

/**
 * Each change takes one or more: from here on an order changes a million times before its version
 * leaves int64.
 */
const lastFirstVersion = 2n ** 63n - 1n - 1_000_000n;

const both = {
  accountId: z.string(),
  quantity: decimalAboveZero.default('100'),
  price: decimalAboveZero.optional(),
  stopPrice: decimalAboveZero.optional(),
  /** Left out: a UUID. */
  orderId: z.string().min(1).optional(),
  clOrdId: z.string().min(1).max(50).optional(),
  /** Works at once, instead of waiting for the venue's answer. */
  accepted: z.boolean().default(true),
  /** The market moves it from now on. */
  live: z.boolean().default(false),
};

/** Body of `POST /orders`: an order placed elsewhere. */
export const handMadeOrder = z.discriminatedUnion('stream', [
  z.strictObject({
    stream: z.literal('account'),
    symbol: z.string().min(1).max(20).default('AAPL'),
    side: z.enum(accountOrderSides).default('BUY'),
    orderType: z.enum(accountOrderTypes).default('LIMIT'),
    timeInForce: z.enum(accountOrderTimesInForce).default('DAY'),
    ...both,
  }),
  z.strictObject({
    stream: z.literal('prediction'),
    symbol: z.string().min(1).default('FED-CUT-DEC26'),
    outcome: z.enum(predictionOutcomes).default('YES'),
    side: z.enum(predictionSides).default('buy'),
    orderType: z.enum(predictionOrderTypes).default('limit'),
    timeInForce: z.enum(predictionTimesInForce).default('gtc'),
    clientOrderRef: z.string().min(1).max(64).optional(),
    /** The first version, as digits. */
    version: z
      .string()
      .regex(/^\d{1,19}$/)
      .refine(
        (digits) => BigInt(digits) <= lastFirstVersion,
        `at most ${lastFirstVersion}, so that no change leaves int64`,
      )
      .default('1'),
    ...both,
  }),
]);

export type HandMadeOrder = z.output<typeof handMadeOrder>;

/** Opens it on the account. */
export function openByHand(
  deps: { exchange: Exchange; market: Market; random: Random },
  account: ExchangeAccount,
  made: HandMadeOrder,
): ExchangeOrder {
  const order = deps.exchange.open(termsOf(deps.random, account, made), 'opened');
  if (made.accepted) acceptOrder(deps.exchange, order, deps.market.nextVenueOrderId());
  if (made.live) deps.market.adopt(order);
  return order;
}

function termsOf(random: Random, account: ExchangeAccount, made: HandMadeOrder): OrderTerms {
  const { stream, symbol, side, orderType, timeInForce, orderId = random.uuid() } = made;
  const limited = orderType.toUpperCase().endsWith('LIMIT');
  const stopped = orderType.toUpperCase().startsWith('STOP');
  const fallback = stream === 'account' ? '10' : '0.5';
  return {
    ...{ stream, orderId, account, symbol, side, orderType, timeInForce },
    quantity: parseFixed(made.quantity) ?? whole(1),
    price: limited ? parseFixed(made.price ?? fallback) : undefined,
    stopPrice: stopped ? parseFixed(made.stopPrice ?? fallback) : undefined,
    clOrdId: made.clOrdId ?? random.uuid(),
    ...(made.stream === 'prediction' && {
      outcome: made.outcome,
      placedBy: account.owner,
      version: BigInt(made.version),
      clientOrderRef: made.clientOrderRef,
    }),
  };
}
