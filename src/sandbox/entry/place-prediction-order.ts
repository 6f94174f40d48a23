import type { Random } from '../../runtime/random.ts';
import { encodePredictionOrder } from '../exchange/encode-prediction-order.ts';
import type { ExchangeAccount } from '../exchange/exchange-account.ts';
import type { ExchangeOrder, OrderTerms } from '../exchange/exchange-order.ts';
import { whole } from '../exchange/fixed.ts';
import { exceedsLimit } from '../venue/venue-settings.ts';
import { entryClosed } from './entry-closed.ts';
import type { EntryDeps } from './entry-deps.ts';
import type { PredictionRequestTerms } from './read-prediction-request.ts';
import { predictionRefusal } from './refusals.ts';
import type { Write } from './write.ts';

/** The answer to every write of a prediction order: `202` with the envelope around the order. */
export const predictionAnswer = {
  status: 202,
  body: (order: ExchangeOrder) => `{"success":true,"data":${encodePredictionOrder(order)}}`,
} as const;

/** `POST /v1/predictions/orders`: `pending_new` until the venue answers (contract, "Prediction orders (staging)"). */
export function placePredictionOrder(
  deps: EntryDeps,
  account: ExchangeAccount,
  request: PredictionRequestTerms,
  placedBy: string,
): Write {
  return {
    refused: false,
    kind: 'place',
    stream: 'prediction',
    accountId: account.id,
    ...(request.clientOrderRef === undefined ? {} : { reference: request.clientOrderRef }),
    attempt() {
      const closed = entryClosed(deps.venue);
      if (closed !== undefined) return closed;
      if (exceedsLimit(deps.venue.options, request.quantity, request.price ?? request.stopPx ?? whole(1)))
        return predictionRefusal('ORDER_NOT_ACTIONABLE', "The order would exceed the account's limits");
      const order = deps.exchange.open(termsOf(deps.random, account, request, placedBy), 'placed');
      deps.venue.submit(order);
      return order;
    },
    answer: predictionAnswer,
  };
}

function termsOf(random: Random, account: ExchangeAccount, request: PredictionRequestTerms, placedBy: string): OrderTerms {
  return {
    stream: 'prediction',
    orderId: random.uuid(),
    account,
    symbol: request.symbol,
    outcome: request.outcome,
    side: request.side,
    orderType: request.orderType,
    timeInForce: request.timeInForce,
    quantity: request.quantity,
    ...(request.price === undefined ? {} : { price: request.price }),
    ...(request.stopPx === undefined ? {} : { stopPrice: request.stopPx }),
    ...(request.expireAt === undefined ? {} : { expireAt: request.expireAt }),
    clOrdId: random.uuid(),
    ...(request.clientOrderRef === undefined ? {} : { clientOrderRef: request.clientOrderRef }),
    placedBy,
    version: 1n,
  };
}
