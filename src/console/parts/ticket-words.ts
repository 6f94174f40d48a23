import type { PlaceAccountBody, PlacePredictionBody } from '../../contract/command-bodies.ts';

// The choices on a ticket with their words. Each list has exactly the words allowed in its body:
// the compiler compares them with the service's shapes.

type Leg = NonNullable<PlaceAccountBody['legs']>[number];

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
