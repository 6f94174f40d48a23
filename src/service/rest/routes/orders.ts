import type { FastifyReply } from 'fastify';
import { z } from 'zod';
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
import { commandAnswer } from '../../../contract/rest-answers.ts';
import { securitiesStream } from '../../../contract/words.ts';
import { formatInstant } from '../../../domain/instant.ts';
import type { Stream } from '../../../domain/order.ts';
import { present } from '../../../domain/present.ts';
import { securitiesStreams } from '../../../domain/streams.ts';
import type { Preview, PreviewAsked } from '../../commands/commands.ts';
import { accountField } from '../request-fields.ts';
import { readIfMatch } from '../request-headers.ts';
import { atHolder, type Call, type Route, type RouteParts, route } from '../route.ts';
import { sendJson } from '../send-answer.ts';
import { type Asked, placeOf, predictionPlaceOf, replaceOf, sendCommand, sendNotDone } from '../send-command.ts';

// Every command's answers, as the table of routes shows them.

const commandHeaders = ['Idempotency-Key', 'Prefer'] as const;
const orderCommandHeaders = [...commandHeaders, 'If-Match'] as const;

const headers = [
  'Location',
  'Idempotent-Replayed',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Policy',
  'Tidemark-Instance',
];

const commandAnswers = {
  200: { describe: 'Nothing about it is open: its result, or accepted', schema: commandAnswer, headers },
  202: {
    describe: 'Its result is not known yet; it is being found out and is never sent again. Ask at Location',
    schema: commandAnswer,
    headers: [...headers, 'Retry-After'],
  },
};

/** Nothing was journaled or sent, but for FORWARD_UNANSWERED. */
const commandProblems = [
  'IDEMPOTENCY_KEY_REQUIRED',
  'INVALID_IF_MATCH',
  'COMMANDS_OFF',
  'ACCOUNT_NOT_TRADED',
  'ACCOUNT_NOT_FOUND',
  'ORDER_NOT_FOUND',
  'IDEMPOTENCY_KEY_REUSED',
  'RATE_LIMITED',
  'TOO_LARGE',
  'MEDIA_TYPE',
  'CONTENT_ENCODING',
  ...atHolder,
  'SOURCE_NOT_LIVE',
] as const;
const placingProblems = [
  'INVALID_ORDER',
  'INVALID_JSON',
  'EMPTY_BODY',
  'UNKNOWN_FIELD',
  ...commandProblems,
  'LIMITS_REQUIRED',
  'PLACING_HALTED',
  'SUPERSEDED_NOT_ABSENT',
  'ACCOUNT_NOT_OPEN',
  'LIMIT_EXCEEDED',
  'LIMIT_NOT_EVALUATED',
] as const;

/** What the routes that place share. */
const placing = {
  method: 'POST',
  tag: 'orders',
  scopes: ['orders:write'],
  headers: commandHeaders,
  answers: commandAnswers,
  problems: [...placingProblems, 'UNRESOLVED_PRIOR_COMMAND', 'CALLER_REF_REUSED'],
} as const satisfies Partial<Route>;

/** And those that replace. */
const replacing = {
  ...placing,
  method: 'PATCH',
  headers: orderCommandHeaders,
  problems: [
    'ORDER_CLOSED',
    'ORDER_ACTION_PENDING',
    'QUANTITY_BELOW_FILLED',
    'NO_CHANGE',
    'REVISION_MISMATCH',
    ...placingProblems,
  ],
} as const satisfies Partial<Route>;

export const placeOrder = route({
  ...placing,
  path: '/v1/orders',
  operationId: 'placeOrder',
  summary: 'Place an equity or option order',
  describe:
    'The body of the platform’s own `POST /v1/orders`. `clientId` comes back as `callerRef` on every update of the order.',
  body: placeAccountBody,
  parse: parsePlaceAccount,
  handle: (parts, call) => sendCommand(parts, call, placeOf(call)),
});

export const placePredictionOrder = route({
  ...placing,
  path: '/v1/predictions/orders',
  operationId: 'placePredictionOrder',
  summary: 'Place a prediction order',
  describe: '`clientOrderRef` comes back as `callerRef` on every update of the order.',
  body: placePredictionBody,
  parse: parsePlacePrediction,
  handle: (parts, call) => sendCommand(parts, call, predictionPlaceOf(call)),
});

export const replacePredictionOrder = route({
  ...replacing,
  path: '/v1/predictions/orders/{orderId}',
  operationId: 'replacePredictionOrder',
  summary: 'Replace the terms of a prediction order',
  describe: 'A term that is left out keeps its working value. At least one has to change.',
  body: replaceBody,
  parse: parseReplace,
  handle: (parts, call) => sendCommand(parts, call, replaceOf(call)),
});

export const replaceOrder = route({
  ...replacing,
  path: '/v1/orders/{orderId}',
  operationId: 'replaceOrder',
  summary: 'Replace an equity or option order',
  describe:
    'Only at a venue that can. It makes a new order, which `replaces` the one before; `orderId` of the command is the new one once it was seen. A term that is left out stays.',
  body: replaceAccountBody,
  parse: parseReplaceAccount,
  handle: (parts, call) => sendCommand(parts, call, replaceOf(call)),
});

const query = z.strictObject({ accountId: accountField.describe('The account that the order is on') });
const securitiesQuery = query.extend({ stream: securitiesStream.optional() });

export const cancelOrder = cancelRoute(
  { shape: securitiesQuery, stream: securitiesStreams[0] },
  '/v1/orders/{orderId}',
  'cancelOrder',
  'Cancel an equity or option order',
);
export const cancelPredictionOrder = cancelRoute(
  { shape: query, stream: 'prediction' },
  '/v1/predictions/orders/{orderId}',
  'cancelPredictionOrder',
  'Cancel a prediction order',
);

/** `stream`: unless the query names one. */
function cancelRoute(
  { shape, stream: usual }: { readonly shape: z.ZodObject; readonly stream: Stream },
  path: string,
  operationId: string,
  summary: string,
): Route {
  return route({
    method: 'DELETE',
    path,
    operationId,
    summary,
    describe:
      'Never refused because of a halt, an earlier cancel, or the status that the order is believed to have: the platform decides, and `orderStatus` says what is believed.',
    tag: 'orders',
    scopes: ['orders:write'],
    query: shape,
    headers: orderCommandHeaders,
    answers: commandAnswers,
    problems: [...commandProblems, 'REVISION_MISMATCH'],
    handle: (parts, call) => {
      const { orderId = '' } = call.params;
      const { accountId, stream = usual } = call.query as z.infer<typeof securitiesQuery>;
      return sendCommand(parts, call, { request: { kind: 'cancel', stream, accountId, orderId } });
    },
  });
}

const previewing = {
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
  ...previewing,
  path: '/v1/orders/preview',
  operationId: 'previewOrder',
  summary: 'Preview an equity or option order, and send nothing',
  body: placeAccountBody,
  parse: parsePlaceAccount,
  handle: (parts, call) => preview(parts, call, placeOf(call)),
});

export const previewPredictionOrder = route({
  ...previewing,
  path: '/v1/predictions/orders/preview',
  operationId: 'previewPredictionOrder',
  summary: 'Preview a prediction order, and send nothing',
  body: placePredictionBody,
  parse: parsePlacePrediction,
  handle: (parts, call) => preview(parts, call, predictionPlaceOf(call)),
});

const previewingReplaces = {
  ...previewing,
  headers: ['If-Match'],
  problems: [...previewing.problems, 'INVALID_IF_MATCH'],
} as const satisfies Partial<Route>;

export const previewReplace = route({
  ...previewingReplaces,
  path: '/v1/orders/{orderId}/preview',
  operationId: 'previewReplace',
  summary: 'Preview the replace of an equity or option order, and send nothing',
  body: replaceAccountBody,
  parse: parseReplaceAccount,
  handle: (parts, call) => preview(parts, call, replaceOf(call)),
});

export const previewPredictionReplace = route({
  ...previewingReplaces,
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
  const ifRevision = named.request.kind === 'place' ? undefined : readIfMatch(request.headers['if-match']);
  const asked = {
    ...{ ...named, principal: principal.name, requestId: request.id },
    ...present({ ifRevision: ifRevision ?? undefined }),
  };
  const look = () => commands.preview(asked);
  const result = await forwarding.enter({ request, reply }, accountId, look, forwarding.untilMs('order'));
  if (result.kind === 'done') return sendJson(reply, previewBody(named.request, result, clock.nowMs()));
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
