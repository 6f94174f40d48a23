import { z } from 'zod';
import { canonicalAccountTerms, canonicalPredictionTerms, canonicalReference } from '../domain/canonical-terms.ts';
import type { AccountPlaceTerms, PredictionPlaceTerms } from '../domain/command.ts';
import { present } from '../domain/present.ts';
import { securitiesStreams, traits } from '../domain/streams.ts';
import { longestOptionSymbol } from '../domain/symbol.ts';
import {
  type BodyResult,
  decimalText,
  instantText,
  parseBody,
  placedAccountText,
  plainTextField,
  platformIdText,
  positiveDecimal,
  principalText,
  probability,
  symbolText,
} from './body-fields.ts';
import { namedBody, securitiesStream } from './words.ts';

// The specification's bodies, as our callers send them: strict. Every rule that does not depend on
// an order's state is checked before anything is journaled.

/**
 * The rules between fields run beside the shape, so a caller gets all faults in one answer. A field
 * the rule reads may then have any value: `isOf` says if it is a word that may be shown.
 */
export const beside = {
  when: ({ value }: z.core.ParsePayload) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

export function isOf<Shape extends z.ZodType>(shape: Shape, value: unknown): value is z.output<Shape> {
  return shape.safeParse(value).success;
}

export const supersedes = z
  .guid('must be the id of a command')
  .optional()
  .describe('The presumed absent command that this one takes the place of (not sent to the platform)');

export const predictionTimeInForce = z
  .enum(['day', 'gtc', 'ioc', 'fok', 'gtd'])
  .meta({ id: 'PredictionTimeInForce', description: 'How long a prediction order stays' });

const accountSide = z
  .enum(['BUY', 'SELL', 'SELL_SHORT', 'BUY_TO_COVER'])
  .meta({ id: 'AccountSide', description: 'The side of an equity or option order' });

export const accountTimeInForce = z.enum(['DAY', 'GTC', 'IOC', 'FOK']);
const accountType = z.enum(['MARKET', 'LIMIT', 'STOP', 'STOP_LIMIT']);
const predictionType = z.enum(['market', 'limit', 'stop', 'stop_limit']);

const legBody = namedBody('OrderLeg', 'One leg of an option order, as it is placed', {
  symbol: symbolText(longestOptionSymbol).describe('OCC option symbol, compact or padded'),
  side: accountSide,
  ratioQty: positiveDecimal,
  positionEffect: z.enum(['OPEN', 'CLOSE']),
});

const accountFields = z.strictObject({
  accountId: placedAccountText.optional().describe('Required, unless tradingAccountId is given'),
  stream: securitiesStream.optional(),
  tradingAccountId: placedAccountText.optional().describe('Another name of accountId'),
  symbol: symbolText(20),
  side: accountSide,
  type: accountType,
  qty: positiveDecimal,
  timeInForce: accountTimeInForce,
  clientId: plainTextField(0, 50)
    .overwrite(canonicalReference)
    .optional()
    .describe("The caller's own reference: carried as callerRef, the platform sees ours"),
  price: decimalText.optional().describe('LIMIT and STOP_LIMIT only, and required there'),
  stopPrice: decimalText.optional().describe('STOP and STOP_LIMIT only, and required there'),
  currency: z
    .string()
    .regex(/^(?:[A-Za-z]{3})?$/, 'must be a code of 3 letters')
    .optional()
    .describe('Empty or left out: USD'),
  exDestination: z
    .string()
    .regex(/^[!-~]{0,10}$/, 'must be at most 10 visible ASCII characters')
    .optional()
    .describe('Sent in upper case; empty: left out'),
  extendedHours: z
    .boolean()
    .optional()
    .describe('Also before and after the regular session: LIMIT for DAY or GTC, on a stream whose venue has it'),
  legs: z
    .array(legBody)
    .max(4, 'must have at most 4 legs')
    .optional()
    .describe('None: equity; 1: option; 2 to 4: multi-leg'),
  supersedes,
});

/**
 * `POST /v1/orders`: specification, "Equity or option order request" and the rules next to the
 * endpoint; legs by docs/platform-assumptions.md.
 */
export const placeAccountBody = accountFields
  .superRefine(checkAccountRules, beside)
  .meta({ id: 'PlaceOrderRequest', description: 'Equity or option order request' });
export type PlaceAccountBody = z.input<typeof placeAccountBody>;

/** `POST /v1/predictions/orders` (docs/platform-assumptions.md, "Prediction orders"). */
export const placePredictionBody = z
  .strictObject({
    accountId: placedAccountText,
    symbol: symbolText(64),
    outcome: z.enum(['YES', 'NO']),
    side: z.enum(['buy', 'sell']),
    orderType: predictionType,
    timeInForce: predictionTimeInForce,
    quantity: positiveDecimal,
    price: probability.optional().describe('limit and stop_limit only, and required there'),
    stopPx: probability.optional().describe('stop and stop_limit only, and required there'),
    expireTime: instantText.optional().describe('gtd only, and required there'),
    clientOrderRef: z
      .string()
      .regex(/^[A-Za-z0-9._:-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 . _ : -')
      .optional()
      .describe("The caller's own reference: carried as callerRef, the platform sees ours"),
    supersedes,
  })
  .superRefine((body, context) => {
    const { orderType, timeInForce } = body;
    if (isOf(predictionType, orderType)) {
      belongs(context, 'price', body.price, orderType.endsWith('limit'), `a ${orderType} order`);
      belongs(context, 'stopPx', body.stopPx, orderType.startsWith('stop'), `a ${orderType} order`);
    }
    if (isOf(predictionTimeInForce, timeInForce))
      belongs(context, 'expireTime', body.expireTime, timeInForce === 'gtd', `time in force ${timeInForce}`);
  }, beside)
  .meta({ id: 'PlacePredictionOrderRequest', description: 'Prediction order request' });
export type PlacePredictionBody = z.input<typeof placePredictionBody>;

export interface Placed<Terms> {
  readonly accountId: string;
  readonly terms: Terms;
  readonly callerRef?: string;
  readonly supersedes?: string;
}

export type PlacedSecurities = Placed<AccountPlaceTerms> & { readonly stream: (typeof securitiesStreams)[number] };

export function parsePlaceAccount(body: unknown): BodyResult<PlacedSecurities> {
  return parseBody(placeAccountBody, withoutNulls(body), (value) => {
    const { accountId, tradingAccountId, stream = securitiesStreams[0], clientId, supersedes: named, ...terms } = value;
    const { extendedHours, ...others } = terms;
    const ours = canonicalAccountTerms({ ...present(others), ...(extendedHours === true && { extendedHours }) });
    return { ...placed(accountId ?? tradingAccountId ?? '', ours, clientId, named), stream };
  });
}

export function parsePlacePrediction(body: unknown): BodyResult<Placed<PredictionPlaceTerms>> {
  return parseBody(placePredictionBody, withoutNulls(body), (value) => {
    const { accountId, clientOrderRef, supersedes: named, ...terms } = value;
    return placed(accountId, canonicalPredictionTerms(present(terms)), clientOrderRef, named);
  });
}

/**
 * A null field in a place counts as left out. Not in a replace: there a null could mean that a term
 * is to go.
 */
export function withoutNulls(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

export type Context = z.core.$RefinementCtx;

type AccountFields = z.infer<typeof accountFields>;

function checkAccountRules(body: AccountFields, context: Context): void {
  const { accountId, tradingAccountId, type, side } = body;
  const legs = Array.isArray(body.legs) ? body.legs : [];
  if (accountId === undefined && tradingAccountId === undefined) fault(context, ['accountId'], 'is missing');
  if (accountId !== undefined && tradingAccountId !== undefined && accountId !== tradingAccountId)
    fault(context, ['tradingAccountId'], 'names another account than accountId');
  if (isOf(accountType, type)) {
    belongs(context, 'price', body.price, type.endsWith('LIMIT'), `a ${type} order`);
    belongs(context, 'stopPrice', body.stopPrice, type.startsWith('STOP'), `a ${type} order`);
  }
  if (body.extendedHours === true) checkHours(body, context);
  // Several legs have a net price, and a credit is negative: the specification says "decimal", so
  // it is left to the platform there.
  if (legs.length < 2) {
    for (const name of ['price', 'stopPrice'] as const)
      if (body[name] !== undefined && !positiveDecimal.safeParse(body[name]).success)
        fault(context, [name], 'must be greater than zero');
  }
  const firstSide: unknown = legs[0]?.side;
  if (isOf(accountSide, side) && isOf(accountSide, firstSide) && firstSide !== side)
    fault(context, ['side'], 'must be the side of the first leg');
}

function checkHours({ type, timeInForce, stream = securitiesStreams[0] }: AccountFields, context: Context): void {
  if (type !== 'LIMIT' || !['DAY', 'GTC'].includes(timeInForce))
    fault(context, ['extendedHours'], 'belongs to LIMIT orders for DAY or GTC');
  if (isOf(securitiesStream, stream) && !traits[stream].extendedHours)
    fault(context, ['extendedHours'], `is not offered on the stream ${stream}`);
}

function belongs(context: Context, name: string, value: unknown, wanted: boolean, where: string): void {
  if (wanted && value === undefined) fault(context, [name], `is required for ${where}`);
  if (!wanted && value !== undefined) fault(context, [name], `does not belong to ${where}`);
}

export function fault(context: Context, path: string[], message: string): void {
  context.addIssue({ code: 'custom', path, message });
}

export function placed<Terms>(
  accountId: string,
  terms: Terms,
  callerRef: string | undefined,
  named: string | undefined,
): Placed<Terms> {
  return {
    accountId,
    terms,
    // An empty reference refers to nothing.
    ...(callerRef === undefined || callerRef === '' ? {} : { callerRef }),
    ...(named === undefined ? {} : { supersedes: named.toLowerCase() }),
  };
}

/** Recorded with its author and time. Blank text is not a reason. */
export const reasonText = plainTextField(1, 500)
  .overwrite((text) => text.trim())
  .refine((text) => text !== '', 'must say why')
  .describe('Why: recorded in the audit trail');

/**
 * The results a person may declare. Not `refused` (the platform's answer) or `unknown` (no
 * result).
 */
const resolvedResults = ['applied', 'rejected', 'not_sent', 'moot'] as const;

/** `POST /v1/commands/{id}/resolution`. */
export const resolutionBody = namedBody('ResolveCommandRequest', 'What a person knows about a command', {
  result: z.enum(resolvedResults),
  reason: reasonText,
});

/** `POST /v1/accounts/{id}/halt|resume` and the same for the service. */
export const reasonBody = namedBody('OperatorRequest', 'Why an operator acts', { reason: reasonText });

/** `POST /v1/accounts/{id}/cancel-all` and the same for the service. */
export const cancelAllBody = namedBody(
  'CancelAllRequest',
  'Why open orders are to be cancelled, which, and what becomes of those that land later',
  {
    reason: reasonText,
    onLanding: z
      .enum(['cancel', 'leave'])
      .default('cancel')
      .describe('What becomes of the order of a place that is unresolved now, should it land later'),
    symbol: symbolText(64).optional().describe('Only orders of this symbol'),
    side: z
      .enum(['buy', 'sell'])
      .optional()
      .describe(
        'Only orders of this side, on both streams; sell_short sells and buy_to_cover buys, an order of several legs has the side of its first',
      ),
    principal: principalText.optional().describe('Only orders that this principal has placed here'),
    reference: plainTextField(1, 64)
      .overwrite(canonicalReference)
      .optional()
      .describe(
        'Only orders with this reference: that of their caller (`callerRef`), or the one that the platform has of them',
      ),
  },
);

/** `POST /v1/cancel-after`. */
export const cancelAfterBody = namedBody(
  'CancelAfterRequest',
  'A dead man’s switch: silence cancels the open orders of these accounts',
  {
    seconds: z.int().min(0).max(86_400).describe('Cancel when so long no further call has come; 0 disarms'),
    accountIds: z
      .array(platformIdText)
      .min(1)
      .max(1000)
      .optional()
      .describe('Left out: every account of the token that is followed now'),
  },
);

export function parseCancelAfter(body: unknown) {
  return parseBody(cancelAfterBody, body, ({ seconds, accountIds }) => ({
    seconds,
    ...(accountIds !== undefined && { accountIds: [...new Set(accountIds)] }),
  }));
}

/** Without `only`: every order. */
export function parseCancelAll(body: unknown) {
  return parseBody(cancelAllBody, body, ({ reason, onLanding, ...selection }) => {
    const only = present(selection);
    return { reason, onLanding, ...(Object.keys(only).length > 0 && { only }) };
  });
}

export type CancelAllBody = Extract<ReturnType<typeof parseCancelAll>, { readonly ok: true }>;

export function parseResolution(body: unknown) {
  return parseBody(resolutionBody, body, (value) => value);
}

export function parseReason(body: unknown) {
  return parseBody(reasonBody, body, (value) => value);
}
