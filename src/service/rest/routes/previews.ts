import type { FastifyReply } from 'fastify';
import {
  parsePlaceAccount,
  parsePlacePrediction,
  placeAccountBody,
  placePredictionBody,
} from '../../../contract/command-bodies.ts';
import { type PreviewAnswer, previewAnswer } from '../../../contract/preview-answer.ts';
import {
  parseReplace,
  parseReplaceAccount,
  replaceAccountBody,
  replaceBody,
} from '../../../contract/replace-bodies.ts';
import { formatInstant } from '../../../domain/instant.ts';
import type { Preview, PreviewAsked } from '../../commands/commands.ts';
import { maySee } from '../auth/principal.ts';
import { readIfMatch } from '../request-headers.ts';
import { atHolder, type Call, type Route, type RouteParts, route } from '../route.ts';
import { sendJson, sendProblem } from '../send-answer.ts';
import { type Asked, placeOf, predictionPlaceOf, replaceOf } from '../send-command.ts';
import { sendNotDone } from '../send-not-done.ts';

const shared = {
  method: 'POST',
  describe:
    'Checks the body of a place or a replace, and shows the value, the quotes, every limit that applies with its bound, and all that would decline the command now. Sends nothing, writes nothing and takes no Idempotency-Key. It is true for this moment only: the command is judged again.',
  tag: 'orders',
  // As placing: it shows the account's limits, halts and commands. A place by the same token would
  // be shown them one by one.
  scopes: ['orders:write'],
  changesNothing: true,
  answers: {
    200: { describe: 'What the command would come to', schema: previewAnswer, headers: ['Tidemark-Instance'] },
  },
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

export const previewOrder = route({
  ...shared,
  path: '/v1/orders/preview',
  operationId: 'previewOrder',
  summary: 'Preview an equity or option order, and send nothing',
  body: placeAccountBody,
  parse: parsePlaceAccount,
  handle: (parts, call) => preview(parts, call, placeOf(call)),
});

export const previewPredictionOrder = route({
  ...shared,
  path: '/v1/predictions/orders/preview',
  operationId: 'previewPredictionOrder',
  summary: 'Preview a prediction order, and send nothing',
  body: placePredictionBody,
  parse: parsePlacePrediction,
  handle: (parts, call) => preview(parts, call, predictionPlaceOf(call)),
});

const sharedByReplaces = {
  ...shared,
  params: { orderId: 'orderId' },
  headers: ['If-Match'],
  problems: [...shared.problems, 'INVALID_IF_MATCH'],
} as const satisfies Partial<Route>;

export const previewReplace = route({
  ...sharedByReplaces,
  path: '/v1/orders/{orderId}/preview',
  operationId: 'previewReplace',
  summary: 'Preview the replace of an equity or option order, and send nothing',
  body: replaceAccountBody,
  parse: parseReplaceAccount,
  handle: (parts, call) => preview(parts, call, replaceOf(call)),
});

export const previewPredictionReplace = route({
  ...sharedByReplaces,
  path: '/v1/predictions/orders/{orderId}/preview',
  operationId: 'previewPredictionReplace',
  summary: 'Preview the replace of a prediction order, and send nothing',
  body: replaceBody,
  parse: parseReplace,
  handle: (parts, call) => preview(parts, call, replaceOf(call)),
});

async function preview(
  { commands, forwarding, clock }: RouteParts,
  { request, reply, principal }: Call<unknown>,
  named: Asked<PreviewAsked['request']>,
): Promise<FastifyReply> {
  const { accountId } = named.request;
  if (!maySee(principal.accounts, accountId)) return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
  const [wrong] = request.headerFaults ?? [];
  if (wrong !== undefined) return sendProblem(reply, wrong.code);
  const ifRevision = named.request.kind === 'place' ? undefined : readIfMatch(request.headers['if-match']);
  const asked = {
    ...{ ...named, principal: principal.name, requestId: request.id },
    ...(typeof ifRevision === 'number' && { ifRevision }),
  };
  const look = () => commands.preview(asked);
  const result = await forwarding.enter({ request, reply }, accountId, look, forwarding.untilMs('order'));
  if (result.kind === 'done') return sendJson(reply, 200, previewBody(named.request, result, clock.nowMs()));
  return sendNotDone(reply, result);
}

function previewBody(
  { kind, stream, accountId, terms }: PreviewAsked['request'],
  { measure, quotes, limits, refusals }: Preview,
  nowMs: number,
): PreviewAnswer {
  const { quantity, notional, valuedByQuote, notValued } = measure;
  const value = notional ?? null;
  const isNoMore = kind === 'replace' && notional === undefined;
  const noPrice = isNoMore ? 'the new terms do not raise it' : 'the order has no price';
  return {
    ...{ stream, accountId, terms: { ...terms }, quantity, value },
    ...(value === null && { noValue: notValued ?? (valuedByQuote ? 'there is no quote' : noPrice) }),
    quotes: quotes.map(({ kind, symbol, quote }) => {
      const { bid, ask, last, ageMs } = quote ?? {};
      return { kind, symbol, bid, ask, last, ageMs };
    }),
    limits: limits.map(({ limit, bound, value, why, broken }) => ({ limit, bound, broken, value, why })),
    refusals: refusals.map(({ code, message, retryAfterMs }) => ({ code, message, retryAfterMs })),
    at: formatInstant(nowMs),
  };
}
