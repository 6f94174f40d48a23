import { z } from 'zod';
import { canonicalReplaceTerms } from '../domain/canonical-terms.ts';
import type { CommandRequest, ReplaceTerms } from '../domain/command.ts';
import { present } from '../domain/present.ts';
import { replaceableSecurities } from '../domain/streams.ts';
import {
  type BodyResult,
  decimalText,
  instantText,
  parseBody,
  platformIdText,
  positiveDecimal,
  probability,
} from './body-fields.ts';
import {
  accountTimeInForce,
  beside,
  type Context,
  fault,
  isOf,
  type Placed,
  placed,
  predictionTimeInForce,
  supersedes,
} from './command-bodies.ts';

/** `PATCH /v1/predictions/orders/{orderId}`: specification, "Replace prediction order request". */
export const replaceBody = z
  .strictObject({
    accountId: platformIdText,
    quantity: positiveDecimal.optional().describe('New total quantity'),
    price: probability.optional(),
    stopPx: probability.optional(),
    timeInForce: predictionTimeInForce.optional(),
    expireTime: instantText.optional().describe('New expiry of a gtd order'),
    supersedes,
  })
  .superRefine((body, context) => {
    namesATerm(body, context);
    const { expireTime, timeInForce } = body;
    if (expireTime !== undefined && isOf(predictionTimeInForce, timeInForce) && timeInForce !== 'gtd')
      fault(context, ['expireTime'], `does not belong to time in force ${timeInForce}`);
  }, beside)
  .meta({ id: 'ReplacePredictionOrderRequest', description: 'Replace prediction order request' });

/** `PATCH /v1/orders/{orderId}`, at venues that have it. Its fields have the names of a place. */
export const replaceAccountBody = z
  .strictObject({
    accountId: platformIdText,
    stream: z
      .enum(replaceableSecurities, 'must be a stream whose orders can be replaced: cancel the order, and place another')
      .describe('The stream of the order'),
    qty: positiveDecimal.optional().describe('New total quantity, filled part included'),
    price: decimalText.optional(),
    stopPrice: positiveDecimal.optional(),
    timeInForce: accountTimeInForce.optional(),
    supersedes,
  })
  .superRefine(namesATerm, beside)
  .meta({ id: 'ReplaceOrderRequest', description: 'Replace request for an equity or option order' });

function namesATerm(body: Readonly<Record<string, unknown>>, context: Context): void {
  const { accountId: _account, stream: _stream, supersedes: _named, ...terms } = body;
  if (Object.values(terms).every((term) => term === undefined))
    fault(context, [], 'must name at least one term to change');
}

/** Either kind, as it is sent on. */
export type Replaced = Omit<Placed<ReplaceTerms>, 'callerRef'> &
  Pick<Extract<CommandRequest, { kind: 'replace' }>, 'stream'>;

export function parseReplace(body: unknown): BodyResult<Replaced> {
  return parseBody(replaceBody, body, ({ accountId, supersedes: named, ...terms }) => ({
    ...placed(accountId, canonicalReplaceTerms(present(terms)), undefined, named),
    stream: 'prediction',
  }));
}

export function parseReplaceAccount(body: unknown): BodyResult<Replaced> {
  return parseBody(replaceAccountBody, body, ({ accountId, stream, supersedes: named, ...terms }) => {
    const { qty: quantity, stopPrice: stopPx, timeInForce, price } = terms;
    const ours = present({ quantity, price, stopPx, timeInForce: timeInForce?.toLowerCase() });
    return { ...placed(accountId, canonicalReplaceTerms(ours), undefined, named), stream };
  });
}
