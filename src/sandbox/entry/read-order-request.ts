import {
  accountOrderSides,
  accountOrderTimesInForce,
  accountOrderTypes,
} from '../../venue/platform/wire/account-order.ts';
import { optionContract } from '../data/option-contracts.ts';
import type { Leg } from '../exchange/exchange-order.ts';
import { isObject, MemberFault, Members, required } from './request-members.ts';

/** The terms read from `POST /v1/orders`. Prices are there if the type has them, and only then. */
export type OrderRequestTerms = ReturnType<typeof readOrderRequest>;

/**
 * Every rule and length for the order request (specification, "Equity or option order request",
 * "POST /v1/orders", "Limits"). Members missing in the table are ignored: unlike for replace, the
 * specification does not forbid them.
 * @throws MemberFault
 */
export function readOrderRequest(members: Members) {
  const accountId = readAccountId(members);
  const symbol = required(members.text('symbol', { min: 1, max: 20 }), 'symbol');
  const side = required(members.word('side', accountOrderSides), 'side');
  const type = required(members.word('type', accountOrderTypes), 'type');
  const quantity = required(members.decimal('qty'), 'qty');
  const timeInForce = required(members.word('timeInForce', accountOrderTimesInForce), 'timeInForce');
  const clientId = members.text('clientId', { max: 50 });
  members.text('currency', { min: 3, max: 3 });
  members.text('exDestination', { max: 10 });
  const price = members.decimal('price');
  const stopPrice = members.decimal('stopPrice');
  const limited = type === 'LIMIT' || type === 'STOP_LIMIT';
  const stopped = type === 'STOP' || type === 'STOP_LIMIT';
  if (limited && price === undefined) throw new MemberFault(`price is required for ${type}`);
  if (stopped && stopPrice === undefined) throw new MemberFault(`stopPrice is required for ${type}`);
  return {
    accountId,
    symbol,
    side,
    type,
    quantity,
    timeInForce,
    clientId: clientId === '' ? undefined : clientId,
    price: limited ? price : undefined,
    stopPrice: stopped ? stopPrice : undefined,
    legs: members.has('legs') ? readLegs(members.raw('legs'), symbol, side) : undefined,
  };
}

/** Some examples in the specification send `tradingAccountId`, with the same meaning. */
function readAccountId(members: Members): string {
  const accountId = members.text('accountId', { min: 1, max: 50 });
  const alias = members.text('tradingAccountId', { min: 1, max: 50 });
  if (accountId !== undefined && alias !== undefined && accountId !== alias)
    throw new MemberFault('accountId and tradingAccountId name different accounts');
  return required(accountId ?? alias, 'accountId');
}

/** An empty list is an equity order's too. */
function readLegs(legs: unknown, underlying: string, side: string): Leg[] | undefined {
  if (!Array.isArray(legs)) throw new MemberFault('legs must be an array');
  if (legs.length > 4) throw new MemberFault('legs must have at most 4 items');
  const read = legs.map((leg: unknown, index) => readLeg(leg, index, underlying));
  // Contract, "Orders": for options the top-level side is the first leg's side.
  if (read[0] !== undefined && read[0].side !== side) throw new MemberFault('side must be the side of the first leg');
  return read.length === 0 ? undefined : read;
}

function readLeg(leg: unknown, index: number, underlying: string): Leg {
  if (!isObject(leg)) throw new MemberFault(`legs[${index}] must be an object`);
  const members = new Members(leg);
  try {
    const symbol = required(members.text('symbol', { min: 1, max: 21 }), 'symbol');
    if (optionContract(symbol)?.underlying !== underlying)
      throw new MemberFault(`symbol must be the compact OCC symbol of a listed option on ${underlying}`);
    members.decimal('ratioQty');
    return {
      symbol,
      side: required(members.word('side', accountOrderSides), 'side'),
      ratioQty: required(members.text('ratioQty'), 'ratioQty'),
      positionEffect: required(members.word('positionEffect', ['OPEN', 'CLOSE'] as const), 'positionEffect'),
    };
  } catch (error) {
    throw error instanceof MemberFault ? new MemberFault(`legs[${index}].${error.message}`) : error;
  }
}
