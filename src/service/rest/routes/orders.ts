import { z } from 'zod';
import {
  parsePlaceAccount,
  parsePlacePrediction,
  placeAccountBody,
  placePredictionBody,
} from '../../../contract/command-bodies.ts';
import {
  parseReplace,
  parseReplaceAccount,
  replaceAccountBody,
  replaceBody,
} from '../../../contract/replace-bodies.ts';
import { commandAnswer, orderAnswer, updatePage } from '../../../contract/rest-answers.ts';
import { securitiesStream } from '../../../contract/words.ts';
import type { Stream } from '../../../domain/order.ts';
import { securitiesStreams } from '../../../domain/streams.ts';
import { jsonOrUndefined } from '../../../runtime/json-or-undefined.ts';
import { accountField, limitField, pageDefault } from '../request-fields.ts';
import { alreadyHas, tagOf } from '../request-headers.ts';
import { atHolder, type Route, route } from '../route.ts';
import { readStore, sendJsonText, sendProblem } from '../send-answer.ts';
import { placeOf, predictionPlaceOf, replaceOf, sendCommand } from '../send-command.ts';
import { storedOrderText } from './order-lists.ts';

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
  params: { orderId: 'orderId' },
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
    params: { orderId: 'orderId' },
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

export const getOrder: Route = {
  method: 'GET',
  path: '/v1/orders/{stream}/{orderId}',
  operationId: 'getOrder',
  summary: 'Read one order',
  tag: 'orders',
  scopes: ['orders:read'],
  params: { stream: 'stream', orderId: 'orderId' },
  headers: ['If-None-Match'],
  answers: {
    200: { describe: 'The order in its newest state', schema: orderAnswer, headers: ['ETag'] },
    304: { describe: 'It is still at the revision of If-None-Match', headers: ['ETag'] },
  },
  handle: async ({ reads }, { request, reply, principal, params }) => {
    const { stream = '', orderId = '' } = params;
    const order = await readStore(reads.getOrder(principal.accounts, stream as Stream, orderId));
    if (order === undefined) return sendProblem(reply, 'ORDER_NOT_FOUND');
    const tag = tagOf(order.revision);
    reply.header('etag', tag);
    if (alreadyHas(request.headers['if-none-match'], tag)) return reply.code(304).send();
    return sendJsonText(reply, 200, storedOrderText(order));
  },
};

export const listUpdates = route({
  method: 'GET',
  path: '/v1/orders/{stream}/{orderId}/updates',
  operationId: 'listOrderUpdates',
  summary: 'Read the history of one order',
  describe: 'Every accepted change by revision, as it stands on Kafka, as far back as the log is kept.',
  tag: 'orders',
  scopes: ['orders:read'],
  params: { stream: 'stream', orderId: 'orderId' },
  query: z.strictObject({
    after: z
      .string()
      .regex(/^(?:0|[1-9]\d{0,8})$/, 'must be a revision')
      .transform(Number)
      .exactOptional()
      .describe('Only revisions above this one')
      .meta({ type: 'integer', minimum: 0, pattern: undefined }),
    limit: limitField,
  }),
  answers: { 200: { describe: 'A page of updates', schema: updatePage } },
  handle: async ({ reads }, { reply, principal, params, query }) => {
    const { stream = '', orderId = '' } = params;
    const { after = 0, limit = pageDefault } = query;
    // One more than asked for shows whether there is a next page.
    const found = await readStore(reads.history(principal.accounts, stream as Stream, orderId, after, limit + 1));
    if (found === undefined) return sendProblem(reply, 'ORDER_NOT_FOUND');
    const shown = found.slice(0, limit);
    // One that is no JSON would spoil all the answer: its revision is missing there.
    const items = shown.filter(({ payload }) => jsonOrUndefined(payload) !== undefined);
    const times = JSON.stringify(items.map(({ recordedAt }) => recordedAt));
    const last = found.length > limit ? shown.at(-1) : undefined;
    const next = last === undefined ? '' : `,"next":"${last.revision}"`;
    const payloads = items.map(({ payload }) => payload).join(',');
    return sendJsonText(reply, 200, `{"items":[${payloads}],"recordedAt":${times}${next}}`);
  },
});
