import type { PlaceAccountBody, PlacePredictionBody } from '../../contract/command-bodies.ts';
import { termsText } from '../../domain/terms-text.ts';
import { fieldsShown, isWhole, type TicketFields } from '../state/commands/ticket-body.ts';
import { amountText } from '../state/text/decimal-text.ts';
import { sideText } from './words.ts';

// The choices on a ticket with their words. Each list has exactly the words allowed in its body:
// the compiler compares them with the service's shapes.

type Leg = NonNullable<PlaceAccountBody['legs']>[number];

/** Without a choice beforehand. */
export function withNone(what: string, choices: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { '': `Choose ${what}`, ...choices };
}

export const accountSides: Readonly<Record<PlaceAccountBody['side'], string>> = {
  BUY: 'buy',
  SELL: 'sell',
  SELL_SHORT: 'sell short',
  BUY_TO_COVER: 'buy to cover',
};

export const accountTypes: Readonly<Record<PlaceAccountBody['type'], string>> = {
  LIMIT: 'limit',
  MARKET: 'market',
  STOP: 'stop',
  STOP_LIMIT: 'stop limit',
};

export const accountTimesInForce: Readonly<Record<PlaceAccountBody['timeInForce'], string>> = {
  DAY: 'day',
  GTC: 'until canceled',
  IOC: 'at once, the rest is canceled',
  FOK: 'at once and whole, or not at all',
};

export const positionEffects: Readonly<Record<Leg['positionEffect'], string>> = { OPEN: 'open', CLOSE: 'close' };

export const predictionSides: Readonly<Record<PlacePredictionBody['side'], string>> = { buy: 'buy', sell: 'sell' };

export const predictionTypes: Readonly<Record<PlacePredictionBody['orderType'], string>> = {
  limit: 'limit',
  market: 'market',
  stop: 'stop',
  stop_limit: 'stop limit',
};

export const predictionTimesInForce: Readonly<Record<PlacePredictionBody['timeInForce'], string>> = {
  day: 'day',
  gtc: 'until canceled',
  ioc: 'at once, the rest is canceled',
  fok: 'at once and whole, or not at all',
  gtd: 'until a time',
};

export const outcomes: Readonly<Record<PlacePredictionBody['outcome'], string>> = { YES: 'yes', NO: 'no' };

/** The order of a ticket: `Sell 100 KO at 64.05, day`. Undefined: a choice of it is missing. */
export function orderWords(fields: TicketFields): string | undefined {
  if (!isWhole(fields)) return undefined;
  const { symbol, outcome, side, type, price, stopPrice, timeInForce, expireTime, quantity, legs } = fields;
  const shown = fieldsShown(fields);
  const text = termsText('place', {
    side: shown.side ? side : undefined,
    qty: amountText(quantity.trim()),
    symbol: shown.outcome ? `${symbol} ${outcome}` : symbol,
    type: /^limit$/i.test(type) ? undefined : type,
    price: shown.price ? price : undefined,
    stopPrice: shown.stopPrice ? stopPrice : undefined,
    ...(shown.expireTime
      ? { until: expireTime }
      : { timeInForce: Reflect.get(predictionTimesInForce, timeInForce.toLowerCase()) }),
  });
  const parts = legs.map(
    ({ side: word, ratioQty, symbol: contract, positionEffect }) =>
      `${sideText(word).toLowerCase()} ${ratioQty} ${contract} to ${positionEffect.toLowerCase()}`,
  );
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${shown.legs ? `: ${parts.join(', ')}` : ''}`;
}
