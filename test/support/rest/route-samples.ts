import type { Route } from '../../../src/service/rest/route.ts';
import { approvalId, commandId } from '../commands/scripted-commands.ts';
import { jobId } from '../orders/memory-dead-letters.ts';

const ids: Readonly<Record<string, string>> = {
  stream: 'account',
  orderId: 'ord-1',
  accountId: 'ACC-1',
  commandId,
  approvalId,
  jobId,
  rowId: '17',
  instance: 'one',
  shard: '0',
};

export const accountBody = {
  accountId: 'ACC-1',
  symbol: 'AAPL',
  side: 'BUY',
  type: 'LIMIT',
  qty: '10',
  timeInForce: 'DAY',
  price: '187.5',
};

export const predictionBody = {
  accountId: 'ACC-1',
  symbol: 'FED-CUT-DEC26',
  outcome: 'YES',
  side: 'buy',
  orderType: 'limit',
  timeInForce: 'day',
  quantity: '50',
  price: '0.42',
};

const reason = { reason: 'a reason that is recorded' };

const bodies: Readonly<Record<string, object>> = {
  placeOrder: accountBody,
  placePredictionOrder: predictionBody,
  previewOrder: accountBody,
  previewPredictionOrder: predictionBody,
  previewReplace: { accountId: 'ACC-1', stream: 'alpaca_paper', price: '187.6' },
  previewPredictionReplace: { accountId: 'ACC-1', price: '0.5' },
  replaceOrder: { accountId: 'ACC-1', stream: 'alpaca_paper', price: '187.6' },
  replacePredictionOrder: { accountId: 'ACC-1', price: '0.5' },
  resolveCommand: { result: 'applied', reason: 'seen at the venue' },
  haltAccount: reason,
  resumeAccount: reason,
  haltService: reason,
  resumeService: reason,
  drainInstance: reason,
  undrainInstance: reason,
  pinShard: reason,
  unpinShard: reason,
  readAccount: reason,
  backfillAccount: { from: '2026-11-01T00:00:00Z', ...reason },
  approve: reason,
  cancelAllOfAccount: reason,
  cancelAllOfService: reason,
  cancelAfter: { seconds: 30, accountIds: ['ACC-1'] },
  // Counted only: a job that is made is answered with 202.
  openDeadLetterJob: { action: 'retry', filter: { accountId: 'ACC-1' }, dryRun: true, ...reason },
  cancelDeadLetterJob: reason,
  retryDeadLetterRow: reason,
  discardDeadLetterRow: reason,
  changeLimits: { accountId: 'ACC-1', bounds: { maxQuantity: '100' }, ...reason },
};

interface SampleOptions {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of the ids that exist. */
  readonly ids?: Readonly<Record<string, string>>;
}

/** A request that the route takes, of account ACC-1, its order ord-1 and its one command. */
export function sampleRequest(
  route: Route,
  options: SampleOptions = {},
): { readonly path: string; readonly init: RequestInit } {
  const named = { ...ids, ...options.ids };
  const path = route.path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(named[name] ?? ''));
  const query =
    route.operationId.startsWith('cancel') && route.method === 'DELETE' ? `?accountId=${named['accountId']}` : '';
  const body = bodies[route.operationId];
  if (route.body !== undefined && body === undefined)
    throw new Error(`there is no sample body for ${route.operationId}`);
  const own = body && {
    ...body,
    ...('accountId' in body && { accountId: named['accountId'] }),
    ...('accountIds' in body && { accountIds: [named['accountId']] }),
  };
  return {
    path: `${path}${query}`,
    init: {
      method: route.method,
      headers: {
        ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(route.headers?.includes('Idempotency-Key') ? { 'idempotency-key': 'key-1' } : {}),
        ...options.headers,
      },
      ...(own === undefined ? {} : { body: JSON.stringify(own) }),
    },
  };
}
