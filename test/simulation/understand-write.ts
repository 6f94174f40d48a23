import { cancelAccountOrder, placeAccountOrder } from '../../src/sandbox/entry/account-order-writes.ts';
import {
  cancelPredictionOrder,
  placePredictionOrder,
  replacePredictionOrder,
} from '../../src/sandbox/entry/prediction-order-writes.ts';
import { readOrderRequest } from '../../src/sandbox/entry/read-order-request.ts';
import { readPredictionRequest, readReplaceRequest } from '../../src/sandbox/entry/read-prediction-request.ts';
import { MemberFault, Members } from '../../src/sandbox/entry/request-members.ts';
import type { EntryDeps, Refusal, Write } from '../../src/sandbox/entry/write.ts';
import { nestedRefusal, orderRefusal, predictionRefusal } from '../../src/sandbox/entry/write.ts';
import type { ExchangeAccount } from '../../src/sandbox/exchange/exchange-order.ts';
import { ordersPath, predictionOrdersPath } from '../../src/venue/platform/wire/order-pages.ts';
import { predictionOrderRequest, replaceRequest } from '../../src/venue/platform/wire/order-writes.ts';
import type { WriteRequest } from '../../src/venue/write-result.ts';

/**
 * What order entry makes of a request: the sandbox's own reading of it, without its HTTP server.
 */
export function understandWrite(deps: EntryDeps, { method, url, body }: WriteRequest): Write | Refusal {
  const { pathname, searchParams } = new URL(url);
  const prediction = pathname.startsWith(predictionOrdersPath);
  const members = new Members(body === undefined ? {} : JSON.parse(body));
  const accountId = String(members.raw('accountId') ?? searchParams.get('accountId'));
  const account = deps.exchange.accounts.get(accountId);
  if (account === undefined || (prediction && !account.predictions))
    return nestedRefusal(403, 'FORBIDDEN', 'Not permitted');
  try {
    return prediction
      ? onPredictions(deps, account, method, pathname, members)
      : onOrders(deps, account, method, pathname, members);
  } catch (error) {
    if (!(error instanceof MemberFault)) throw error;
    return (prediction ? predictionRefusal : orderRefusal)('INVALID_ORDER', error.message);
  }
}

function onPredictions(
  deps: EntryDeps,
  account: ExchangeAccount,
  method: WriteRequest['method'],
  pathname: string,
  members: Members,
): Write | Refusal {
  const nowUs = deps.clock.nowMs() * 1000;
  const orderId = idIn(pathname, predictionOrdersPath);
  if (method === 'DELETE') return cancelPredictionOrder(deps, account, orderId);
  const unknown = members.unknownOf((method === 'POST' ? predictionOrderRequest : replaceRequest).shape);
  if (unknown !== undefined) return predictionRefusal('UNKNOWN_FIELD', unknown);
  if (method === 'POST')
    return placePredictionOrder(deps, account, readPredictionRequest(members, nowUs), account.owner);
  return replacePredictionOrder(deps, account, orderId, readReplaceRequest(members, nowUs), account.owner);
}

function onOrders(
  deps: EntryDeps,
  account: ExchangeAccount,
  method: WriteRequest['method'],
  pathname: string,
  members: Members,
): Write | Refusal {
  if (method === 'DELETE') return cancelAccountOrder(deps, account, idIn(pathname, ordersPath));
  return placeAccountOrder(deps, account, readOrderRequest(members));
}

function idIn(pathname: string, path: string): string {
  return decodeURIComponent(pathname.slice(path.length + 1));
}
