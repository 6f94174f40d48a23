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
import type { PlaceAsked, Preview } from '../../commands/commands.ts';
import { maySee } from '../auth/principal.ts';
import { atHolder } from '../problem-codes.ts';
import type { Call, Route } from '../route.ts';
import type { RouteParts } from '../route-parts.ts';
import { sendBodyFaults, sendJson, sendProblem } from '../send-answer.ts';
import { sendNotDone } from '../send-not-done.ts';

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
  problems: [
    'INVALID_ORDER',
    'INVALID_JSON',
    'EMPTY_BODY',
    'UNKNOWN_FIELD',
    'COMMANDS_OFF',
    'ACCOUNT_NOT_FOUND',
    'TOO_LARGE',
    'MEDIA_TYPE',
    'CONTENT_ENCODING',
    'RATE_LIMITED',
    ...atHolder,
  ],
} as const satisfies Partial<Route>;

export const previewOrder: Route = {
  ...shared,
  path: '/v1/orders/preview',
  operationId: 'previewOrder',
  summary: 'Preview an equity or option order, and send nothing',
  body: placeAccountBody,
  handle: (parts, call) =>
    preview(parts, call, parsePlaceAccount(call.request.body), ({ stream, accountId, terms }) => ({
      ...{ kind: 'place', stream, accountId, terms },
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
  if (!maySee(principal.accounts, accountId)) return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
  const place = placeOf(body);
  const asked = {
    ...{ request: place, principal: principal.name, requestId: request.id },
    ...(callerRef !== undefined && { callerRef }),
    ...(supersedes !== undefined && { supersedes }),
  };
  const look = () => commands.preview(asked);
  const result = await forwarding.enter({ request, reply }, accountId, look, forwarding.untilMs('order'));
  if (result.kind === 'done') return sendJson(reply, 200, previewBody(place, result, clock.nowMs()));
  return sendNotDone(reply, result);
}

function previewBody(
  { stream, accountId, terms }: PlaceAsked['request'],
  { measure, quotes, limits, refusals }: Preview,
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
