import { z } from 'zod';
import type { BodyResult } from '../../contract/body-fields.ts';
import { platformIdText, present } from '../../contract/body-fields.ts';
import {
  parsePlaceAccount,
  parsePlacePrediction,
  placeAccountBody,
  placePredictionBody,
} from '../../contract/command-bodies.ts';
import { cancelPath } from '../../contract/order-path.ts';
import { type PreviewAnswer, previewAnswer } from '../../contract/preview-answer.ts';
import { parseReplace, replaceBody } from '../../contract/replace-bodies.ts';
import { type CallerDocument, callerAnswer } from '../../contract/status-answer.ts';
import type { CommandRequest } from '../../domain/command.ts';
import { formatInstant } from '../../domain/instant.ts';
import { measureReplace } from '../../domain/measure-command.ts';
import { type Order, type Stream, streams } from '../../domain/order.ts';
import { termsText } from '../../domain/terms-text.ts';
import type { ListedOrder } from '../io/order-text.ts';
import { faultLine, isProblem, type RestClient, type RestRequest, understood } from '../rest/rest-client.ts';
import { segment } from '../rest/rest-flags.ts';
import { atStakeData, atStakeLines, readAtStake, type Traded } from './at-stake.ts';
import { keyOf, previewMs } from './preview-book.ts';
import { readOrder } from './read-orders.ts';
import { orderLine, shortOrder } from './short-order.ts';
import { problemOf, readOnly, readRest, type Session, tool } from './tool.ts';
import { type ToolAnswer, ToolError } from './tool-answer.ts';

/** A checked request, before its preview has an id. */
interface Draft extends Traded {
  readonly kind: 'place' | 'replace' | 'cancel';
  readonly terms: Readonly<Record<string, unknown>>;
  readonly request: Omit<RestRequest, 'waitMs'>;
  /** The value by the service or, for a replace, by this program. */
  readonly worth?: Worth;
  /** For a replace or a cancel: as it is now. */
  readonly order?: ListedOrder;
}

/** `noValue`: why there is none. */
interface Worth extends Partial<Pick<PreviewAnswer, 'quotes' | 'refusals'>> {
  readonly quantity?: string | undefined;
  readonly value?: string | null | undefined;
  readonly noValue?: string | undefined;
}

const nothingSent = 'Sends nothing. Answers with a previewId for commit, good for one command and two minutes.';
const annotations = { ...readOnly, idempotentHint: false };
const scopes = ['orders:write'] as const;

export const previewPlace = tool({
  name: 'preview_place',
  title: 'Preview an equity or option order',
  description: `Checks an equity or option order, and shows the exact request, the limits, the open orders and the exposure. ${nothingSent}`,
  scopes,
  annotations,
  input: placeAccountBody.describe('An equity or option order. Quantities and prices are decimal strings'),
  run: async (session, body) => {
    const place = { kind: 'place', ...checked(parsePlaceAccount(body)) } as const;
    return previewOf(session, place, '/v1/orders', body);
  },
});

export const previewPlacePrediction = tool({
  name: 'preview_place_prediction',
  title: 'Preview an order on a prediction market',
  description: `Checks an order on a prediction market, and shows the exact request, the limits, the open orders and the exposure. ${nothingSent}`,
  scopes,
  annotations,
  input: placePredictionBody.describe(
    'An order on a prediction market. Quantities and prices are decimal strings; a price lies between 0 and 1',
  ),
  run: async (session, body) => {
    const place = { kind: 'place', stream: 'prediction', ...checked(parsePlacePrediction(body)) } as const;
    return previewOf(session, place, '/v1/predictions/orders', body);
  },
});

type Place = Extract<CommandRequest, { kind: 'place' }>;

/** The service itself says what the place would come to: quotes, value, and every refusal. */
async function previewOf(session: Session, place: Place, path: string, body: unknown): Promise<ToolAnswer> {
  const { kind, stream, accountId, terms } = place;
  const client = session.client();
  const request = { method: 'POST', path, body } as const;
  await callerThatTrades(client);
  const answer = await client.exchange({ ...request, path: `${path}/preview` });
  if (isProblem(answer)) throw problemOf(answer);
  const worth = understood('the preview', previewAnswer, answer.body);
  return preview(session, client, {
    kind,
    stream,
    accountId,
    symbol: terms.symbol,
    terms: { ...terms },
    request,
    worth,
  });
}

export const previewReplace = tool({
  name: 'preview_replace',
  title: 'Preview new terms of a prediction order',
  description: `Checks new terms of a working prediction order, and shows the order as it is now. Terms that are left out stay. The commit is refused if the order has changed since the preview. ${nothingSent}`,
  scopes,
  annotations,
  input: z.strictObject({
    orderId: platformIdText,
    terms: replaceBody.describe(
      'accountId, and the new terms as decimal strings; quantity is the new total, filled part included',
    ),
  }),
  run: async (session, { orderId: id, terms: body }) => {
    const { accountId, terms } = checked(parseReplace(body));
    const client = session.client();
    const order = await ownOrder(client, 'prediction', id, accountId);
    // The reader has not seen a later revision: its replace would be another decision.
    const request = {
      method: 'PATCH',
      path: `/v1/predictions/orders/${segment(id)}`,
      body,
      headers: { 'if-match': `"${order.revision}"` },
    } as const;
    const measure = measureReplace(
      { kind: 'replace', stream: 'prediction', accountId, orderId: id, terms },
      order.order as Order,
    );
    const { symbol } = order.order.instrument;
    return preview(session, client, {
      kind: 'replace',
      stream: 'prediction',
      accountId,
      symbol,
      terms: { ...terms },
      request,
      worth: { quantity: measure.quantity, value: measure.notional },
      order,
    });
  },
});

export const previewCancel = tool({
  name: 'preview_cancel',
  title: 'Preview the cancel of an order',
  description: `Shows the order that would be cancelled, as it is now. The commit cancels it also if it was filled in part since the preview. ${nothingSent}`,
  scopes,
  annotations,
  input: z.strictObject({
    stream: z.enum(streams).describe('account: equities and options. prediction: prediction markets'),
    orderId: platformIdText,
    accountId: platformIdText,
  }),
  run: async (session, { stream, orderId: id, accountId }) => {
    const client = session.client();
    const order = await ownOrder(client, stream, id, accountId);
    const path = cancelPath({ stream, orderId: id, accountId });
    const { symbol } = order.order.instrument;
    return preview(session, client, {
      kind: 'cancel',
      stream,
      accountId,
      symbol,
      terms: {},
      request: { method: 'DELETE', path },
      order,
    });
  },
});

function checked<T extends object>(body: BodyResult<T>): T {
  if (body.ok) return body;
  throw new ToolError('INVALID_ORDER', body.faults.map(faultLine).join('; '));
}

async function ownOrder(client: RestClient, stream: Stream, id: string, accountId: string): Promise<ListedOrder> {
  const order = await readOrder(client, stream, id);
  if (order.accountId === accountId) return order;
  throw new ToolError('ORDER_NOT_FOUND', `order ${id} is not of account ${accountId}`);
}

/** Who asks, by the token as it is now. */
export async function readCaller(client: RestClient): Promise<CallerDocument> {
  return understood('the caller', callerAnswer, await readRest(client, '/v1/me'));
}

async function callerThatTrades(client: RestClient): Promise<CallerDocument> {
  const caller = await readCaller(client);
  if (caller.commands === 'off')
    throw new ToolError('COMMANDS_OFF', 'commands are off in the service (TIDEMARK_COMMANDS)');
  return caller;
}

async function preview(session: Session, client: RestClient, draft: Draft): Promise<ToolAnswer> {
  const caller = await callerThatTrades(client);
  const { previews } = session;
  const atStake = await readAtStake(client, caller, draft);
  const previewId = previews.nextId();
  const headers = { ...draft.request.headers, 'idempotency-key': keyOf(previewId) };
  const request = { ...draft.request, headers };
  const { expiresAtMs } = previews.add(previewId, caller.principal, request);
  const { kind, accountId, worth = {}, order, terms } = draft;
  const { quantity, value, quotes, refusals } = worth;
  const words = termsText(kind, terms);
  const summary = `${kind === 'cancel' ? words : `${kind} ${words}`} on ${accountId}`;
  return {
    lines: [
      `Preview ${previewId}: ${summary}`,
      `Request: ${request.method} ${request.path}${request.body === undefined ? '' : ` ${JSON.stringify(request.body)}`}`,
      ...(order === undefined ? [] : [`Order now: ${orderLine(order)}`]),
      ...worthLines(worth),
      ...atStakeLines(atStake, draft),
      'Nothing was sent, and the service judges its limits again at the commit.',
      `To send it once: commit with this previewId, before ${formatInstant(expiresAtMs)}.`,
    ],
    data: present({
      previewId,
      expiresAt: formatInstant(expiresAtMs),
      expiresInSeconds: previewMs / 1000,
      summary,
      idempotencyKey: keyOf(previewId),
      request,
      principal: caller.principal,
      quantity,
      value,
      quotes,
      refusals,
      order: order === undefined ? undefined : shortOrder(order),
      ...atStakeData(atStake),
    }),
  };
}

function worthLines({ value, noValue = 'the service does not say why', quotes = [], refusals = [] }: Worth): string[] {
  return [
    ...quotes.map(({ symbol, bid = '-', ask = '-', last = '-', ageMs }) =>
      ageMs === undefined
        ? `Quote ${symbol}: none in time`
        : `Quote ${symbol}: bid ${bid}, ask ${ask}, last ${last}, ${ageMs} ms old`,
    ),
    ...(value === undefined ? [] : [value === null ? `Value: not known, ${noValue}` : `Value at most: ${value}`]),
    ...refusals.map(({ code, message }) => `Would be refused now: ${message} (${code})`),
  ];
}
