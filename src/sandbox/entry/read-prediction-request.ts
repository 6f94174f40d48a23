import { parseInstant } from '../../domain/instant.ts';
import {
  predictionOrderTypes,
  predictionOutcomes,
  predictionSides,
  predictionTimesInForce,
} from '../../venue/platform/wire/prediction-order.ts';
import { type Fixed, type Micros, whole } from '../exchange/wire-text.ts';
import { MemberFault, type Members, required } from './request-members.ts';

/** The terms read from `POST /v1/predictions/orders`. */
export type PredictionRequestTerms = ReturnType<typeof readPredictionRequest>;

/**
 * A replace's members (specification, "Replace prediction order request"). A term left out is
 * undefined.
 */
export type ReplaceTerms = ReturnType<typeof readReplaceRequest>;

/**
 * Contract, "Prediction orders (staging)". `nowUs`: an expiry has to lie ahead.
 * @throws MemberFault
 */
export function readPredictionRequest(members: Members, nowUs: Micros) {
  const terms = {
    accountId: required(members.text('accountId', { min: 1, max: 50 }), 'accountId'),
    symbol: required(members.text('symbol', { min: 1 }), 'symbol'),
    outcome: required(members.word('outcome', predictionOutcomes), 'outcome'),
    side: required(members.word('side', predictionSides), 'side'),
    orderType: required(members.word('orderType', predictionOrderTypes), 'orderType'),
    timeInForce: required(members.word('timeInForce', predictionTimesInForce), 'timeInForce'),
    quantity: required(members.decimal('quantity'), 'quantity'),
    price: probability(members, 'price'),
    stopPx: probability(members, 'stopPx'),
    expireAt: expiry(members, nowUs),
    clientOrderRef: members.text('clientOrderRef'),
  };
  if (terms.clientOrderRef !== undefined && !/^[A-Za-z0-9._:-]{1,64}$/.test(terms.clientOrderRef))
    throw new MemberFault('clientOrderRef must be 1 to 64 of A-Z a-z 0-9 . _ : -');
  belongs('price', terms.price, terms.orderType.endsWith('limit'), `a ${terms.orderType} order`);
  belongs('stopPx', terms.stopPx, terms.orderType.startsWith('stop'), `a ${terms.orderType} order`);
  belongs('expireTime', terms.expireAt, terms.timeInForce === 'gtd', `time in force ${terms.timeInForce}`);
  return terms;
}

/** @throws MemberFault */
export function readReplaceRequest(members: Members, nowUs: Micros) {
  return {
    accountId: required(members.text('accountId', { min: 1, max: 50 }), 'accountId'),
    quantity: members.decimal('quantity'),
    price: probability(members, 'price'),
    stopPx: probability(members, 'stopPx'),
    timeInForce: members.word('timeInForce', predictionTimesInForce),
    expireAt: expiry(members, nowUs),
  };
}

/** A prediction's price lies in (0, 1). */
function probability(members: Members, name: string): Fixed | undefined {
  const price = members.decimal(name);
  if (price !== undefined && price >= whole(1)) throw new MemberFault(`${name} must lie between 0 and 1`);
  return price;
}

function expiry(members: Members, nowUs: Micros): Micros | undefined {
  const text = members.text('expireTime');
  if (text === undefined) return undefined;
  const nanoseconds = parseInstant(text);
  if (nanoseconds === undefined) throw new MemberFault('expireTime must be an ISO 8601 date-time');
  const at = Number(nanoseconds / 1000n);
  if (at <= nowUs) throw new MemberFault('expireTime must lie ahead');
  // Every instant here is a number of microseconds.
  if (!Number.isSafeInteger(at)) throw new MemberFault('expireTime must lie before the year 2255');
  return at;
}

function belongs(name: string, value: unknown, wanted: boolean, where: string): void {
  if (wanted && value === undefined) throw new MemberFault(`${name} is required for ${where}`);
  if (!wanted && value !== undefined) throw new MemberFault(`${name} does not belong to ${where}`);
}
