import type { FastifyReply } from 'fastify';
import type { BodyResult } from '../../../contract/body-fields.ts';
import {
  parsePlaceAccount,
  parsePlacePrediction,
  placeAccountBody,
  placePredictionBody,
} from '../../../contract/command-bodies.ts';
import { type PreviewAnswer, previewAnswer } from '../../../contract/preview-answer.ts';
import { formatInstant } from '../../../domain/instant.ts';
import type { PlaceAsked, PreviewResult } from '../../commands/commands.ts';
import { maySee } from '../auth/principal.ts';
import type { Call, Route } from '../route.ts';
import type { RouteParts } from '../route-parts.ts';
import { sendBodyFaults, sendJson, sendMissing } from '../send-answer.ts';
import { sendOfHolder } from '../send-command.ts';

const shared = {
  method: 'POST',
  describe:
    'Checks the body of a place, and shows the value, the quotes, every limit that applies with its bound, and all that would decline the order now. Sends nothing, writes nothing and takes no Idempotency-Key. It is true for this moment only: the place is judged again.',
  tag: 'orders',
  // As placing: it shows the account's limits, halts and commands. A place by the same token would
  // be shown them one by one.
  scopes: ['orders:write'],
  changesNothing: true,
  answers: { 200: { describe: 'What a place would come to', schema: previewAnswer, headers: ['Tidemark-Instance'] } },
  problems: {
    400: ['INVALID_ORDER', 'INVALID_JSON', 'EMPTY_BODY', 'UNKNOWN_FIELD'],
    403: ['COMMANDS_OFF'],
    404: ['ACCOUNT_NOT_FOUND'],
    413: ['TOO_LARGE'],
    415: ['MEDIA_TYPE', 'CONTENT_ENCODING'],
    429: ['RATE_LIMITED'],
    503: ['NOT_LEADER', 'FORWARD_UNANSWERED', 'DRAINING', 'STORE_UNAVAILABLE'],
  },
} as const satisfies Partial<Route>;

export const previewOrder: Route = {
  ...shared,
  path: '/v1/orders/preview',
  operationId: 'previewOrder',
  summary: 'Preview an equity or option order, and send nothing',
  body: placeAccountBody,
  handle: (parts, call) =>
    preview(parts, call, parsePlaceAccount(call.request.body), ({ accountId, terms }) => ({
      ...{ kind: 'place', stream: 'account', accountId, terms },
    })),
};

export const previewPredictionOrder: Route = {
  ...shared,
  path: '/v1/predictions/orders/preview',
  operationId: 'previewPredictionOrder',
  summary: 'Preview a prediction order, and send nothing',
  body: placePredictionBody,
  handle: (parts, call) =>
    preview(parts, call, parsePlacePrediction(call.request.body), ({ accountId, terms }) => ({
      ...{ kind: 'place', stream: 'prediction', accountId, terms },
    })),
};

type Named = Pick<PlaceAsked, 'callerRef' | 'supersedes'> & { readonly accountId: string };

async function preview<Body extends Named>(
  { commands, forwarding, clock }: RouteParts,
  { request, reply, principal }: Call,
  body: BodyResult<Body>,
  placeOf: (body: Body) => PlaceAsked['request'],
): Promise<FastifyReply> {
  if (!body.ok) return sendBodyFaults(reply, 'INVALID_ORDER', body.faults);
  const { accountId, callerRef, supersedes } = body;
  if (!maySee(principal.accounts, accountId)) return sendMissing(reply, 'ACCOUNT_NOT_FOUND');
  const place = placeOf(body);
  const result = await commands.preview({
    ...{ request: place, principal: principal.name, requestId: request.id },
    ...(callerRef !== undefined && { callerRef }),
    ...(supersedes !== undefined && { supersedes }),
  });
  if (result.kind === 'previewed') return sendJson(reply, 200, previewBody(place, result, clock.nowMs()));
  return sendOfHolder(forwarding, { request, reply }, result, accountId);
}

function previewBody(
  { stream, accountId, terms }: PlaceAsked['request'],
  { measure, quotes, limits, refusals }: Extract<PreviewResult, { kind: 'previewed' }>,
  nowMs: number,
): PreviewAnswer {
  const { quantity, notional = null, valuedByQuote, notValued } = measure;
  return {
    ...{ stream, accountId, terms: { ...terms }, ...(quantity !== undefined && { quantity }), value: notional },
    ...(notional === null && {
      noValue: notValued ?? (valuedByQuote ? 'there is no quote' : 'the order has no price'),
    }),
    quotes: quotes.map(({ kind, symbol, quote }) => {
      const { bid, ask, last, ageMs } = quote ?? {};
      return {
        ...{ kind, symbol },
        ...(bid !== undefined && { bid }),
        ...(ask !== undefined && { ask }),
        ...(last !== undefined && { last }),
        ...(ageMs !== undefined && { ageMs }),
      };
    }),
    limits: limits.map(({ limit, bound, value, why, broken }) => ({
      ...{ limit, bound, broken },
      ...(value !== undefined && { value }),
      ...(why !== undefined && { why }),
    })),
    refusals: refusals.map(({ code, message, retryAfterMs }) => ({
      ...{ code, message },
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    })),
    at: formatInstant(nowMs),
  };
}
