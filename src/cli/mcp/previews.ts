import { z } from 'zod';
import {
  type BodyResult,
  decimalText,
  instantText,
  platformIdText,
  positiveDecimal,
} from '../../contract/body-fields.ts';
import {
  accountTimeInForce,
  parsePlaceAccount,
  parsePlacePrediction,
  placeAccountBody,
  placePredictionBody,
  predictionTimeInForce,
  supersedes,
} from '../../contract/command-bodies.ts';
import { cancelPath, orderPath, placePath } from '../../contract/order-path.ts';
import { type PreviewAnswer, previewAnswer } from '../../contract/preview-answer.ts';
import { parseReplace, parseReplaceAccount } from '../../contract/replace-bodies.ts';
import { type NewTerms, replaceBodyOf, termsOf } from '../../contract/replace-terms.ts';
import { type CallerDocument, callerAnswer } from '../../contract/status-answer.ts';
import type { CommandRequest, ReplaceTerms } from '../../domain/command.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { Stream } from '../../domain/order.ts';
import { present } from '../../domain/present.ts';
import { traits } from '../../domain/streams.ts';
import { termsText } from '../../domain/terms-text.ts';
import type { ListedOrder } from '../io/order-text.ts';
import { faultLine, isProblem, type RestClient, type RestRequest, understood } from '../rest/rest-client.ts';
import { atStakeData, atStakeLines, readAtStake, type Traded } from './at-stake.ts';
import { keyOf, previewMs } from './preview-book.ts';
import { orderLine, readOrder, shortOrder } from './read-orders.ts';
import { problemOf, readOnly, readRest, type Session, streamOfOrder, tool } from './tool.ts';
import { type ToolAnswer, ToolError } from './tool-answer.ts';

/** A checked request, before its preview has an id. */
interface Draft extends Traded {
  readonly kind: 'place' | 'replace' | 'cancel';
  readonly terms: Readonly<Record<string, unknown>>;
  readonly request: Omit<RestRequest, 'waitMs'>;
  /** The service's word, for a place or a replace. */
  readonly worth?: PreviewAnswer;
  /** For a replace or a cancel: as it is now. */
  readonly order?: ListedOrder;
  /** For a replace. `from`: absent if the order has none now. */
  readonly changes?: readonly { readonly term: string; readonly from?: string; readonly to: string }[];
}

const nothingSent = 'Sends nothing. Answers with a previewId for commit, good for one command and two minutes.';
const showsAll = `and shows the exact request, the limits, the open orders and the exposure. ${nothingSent}`;
const annotations = { ...readOnly, idempotentHint: false };
const scopes = ['orders:write'] as const;

export const previewPlace = tool({
  name: 'preview_place',
  title: 'Preview an equity or option order',
  description: `Checks an equity or option order, ${showsAll}`,
  scopes,
  annotations,
  input: placeAccountBody.describe('An equity or option order. Quantities and prices are decimal strings'),
  run: (session, body) => previewOf(session, { kind: 'place', ...checked(parsePlaceAccount(body)) }, body),
});

export const previewPlacePrediction = tool({
  name: 'preview_place_prediction',
  title: 'Preview an order on a prediction market',
  description: `Checks an order on a prediction market, ${showsAll}`,
  scopes,
  annotations,
  input: placePredictionBody.describe(
    'An order on a prediction market. Quantities and prices are decimal strings; a price lies between 0 and 1',
  ),
  run: (session, body) =>
    previewOf(session, { kind: 'place', stream: 'prediction', ...checked(parsePlacePrediction(body)) }, body),
});

type Place = Extract<CommandRequest, { kind: 'place' }>;

/** The service itself says what the place would come to: quotes, value, and every refusal. */
async function previewOf(session: Session, place: Place, body: unknown): Promise<ToolAnswer> {
  const { kind, stream, accountId, terms } = place;
  const client = session.client();
  const request = { method: 'POST', path: placePath(stream), body } as const;
  await callerThatTrades(client);
  const worth = await judgedBy(client, request);
  const { symbol } = terms;
  return preview(session, client, { kind, stream, accountId, symbol, terms: { ...terms }, request, worth });
}

/** The service judges a request as it would at its commit. */
async function judgedBy(client: RestClient, request: Draft['request']): Promise<PreviewAnswer> {
  const answer = await client.exchange({ ...request, method: 'POST', path: `${request.path}/preview` });
  if (isProblem(answer)) throw problemOf(answer);
  return understood('the preview', previewAnswer, answer.body);
}

export const previewCancel = tool({
  name: 'preview_cancel',
  title: 'Preview the cancel of an order',
  description: `Shows the order that would be cancelled, as it is now. The commit cancels it also if it was filled in part since the preview. ${nothingSent}`,
  scopes,
  annotations,
  input: z.strictObject({
    stream: streamOfOrder,
    orderId: platformIdText,
    accountId: platformIdText,
  }),
  run: async (session, { stream, orderId: id, accountId }) => {
    const client = session.client();
    const order = await ownOrder(client, stream, id, accountId);
    const path = cancelPath({ stream, orderId: id, accountId });
    const { symbol } = order.order.instrument;
    const request = { method: 'DELETE', path } as const;
    return preview(session, client, { kind: 'cancel', stream, accountId, symbol, terms: {}, request, order });
  },
});

/** `nameOf`: the tool's own name of a field. */
function checked<T extends object>(body: BodyResult<T>, nameOf = (path: string) => path): T {
  if (body.ok) return body;
  const faults = body.faults.map(({ path, message }) => faultLine({ path: nameOf(path), message }));
  throw new ToolError('INVALID_ORDER', faults.join('; '));
}

async function ownOrder(client: RestClient, stream: Stream, id: string, accountId: string): Promise<ListedOrder> {
  const order = await readOrder(client, stream, id);
  if (order.accountId === accountId) return order;
  throw new ToolError('ORDER_NOT_FOUND', `order ${id} is not of account ${accountId}`);
}

/** Who asks, by the token as it is now. */
export function readCaller(client: RestClient): Promise<CallerDocument> {
  return readRest(client, '/v1/me', 'the caller', callerAnswer);
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
  const { kind, accountId, worth, order, changes, terms } = draft;
  const { quantity, value, quotes, refusals } = worth ?? {};
  const words = termsText(kind, terms);
  const summary = `${kind === 'cancel' ? words : `${kind} ${words}`} on ${accountId}`;
  return {
    lines: [
      `Preview ${previewId}: ${summary}`,
      `Request: ${request.method} ${request.path}${request.body === undefined ? '' : ` ${JSON.stringify(request.body)}`}`,
      order && `Order now: ${orderLine(order)}`,
      ...(order === undefined || changes === undefined ? [] : changeLines(order, changes)),
      ...(worth === undefined ? [] : worthLines(worth)),
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
      order: order && shortOrder(order),
      changes,
      ...atStakeData(atStake),
    }),
  };
}

/** The new total says little without what is filled of it. */
function changeLines({ stream, order: { cumQty } }: ListedOrder, changes: NonNullable<Draft['changes']>) {
  return [
    ...changes.map(({ term, from = 'none', to }) => {
      const total = term === 'quantity' ? ` in all, ${cumQty} of them filled` : '';
      return `Change: ${term} ${from} -> ${to}${total}`;
    }),
    traits[stream].replaces === 'new_order'
      ? 'The venue ends this order, and makes a new one with an id of its own.'
      : undefined,
  ];
}

function worthLines({ value, noValue = 'the service does not say why', quotes, refusals }: PreviewAnswer): string[] {
  return [
    ...quotes.map(({ symbol, bid = '-', ask = '-', last = '-', ageMs }) =>
      ageMs === undefined
        ? `Quote ${symbol}: none in time`
        : `Quote ${symbol}: bid ${bid}, ask ${ask}, last ${last}, ${ageMs} ms old`,
    ),
    value === null ? `No value: ${noValue}` : `Value at most: ${value}`,
    ...refusals.map(({ code, message }) => `Would be refused now: ${message} (${code})`),
  ];
}

/**
 * One tool for every stream, with the names in list_orders. The rules of a stream are looked at
 * once it is known: a fault then names its field alone, and not the shapes of other streams.
 */
export const previewReplace = tool({
  name: 'preview_replace',
  title: 'Preview new terms of an order',
  description: `Checks new terms of a working order, and shows each change, the limits and everything that would refuse it now. Terms that are left out stay. The commit is refused if the order has changed since the preview. ${nothingSent}`,
  scopes,
  annotations,
  input: z.strictObject({
    stream: streamOfOrder,
    orderId: platformIdText,
    accountId: platformIdText,
    quantity: positiveDecimal.optional().describe('The new total, filled part included'),
    price: decimalText.optional(),
    stopPrice: positiveDecimal.optional(),
    // preview_place has the one spelling, and orders are shown with the other.
    timeInForce: z.enum([...predictionTimeInForce.options, ...accountTimeInForce.options]).optional(),
    expireTime: instantText.optional().describe('Of a gtd order on a prediction market'),
    supersedes,
  }),
  run: async (
    session,
    { stream, orderId, accountId, supersedes: named, stopPrice: stopPx, timeInForce, ...others },
  ) => {
    const terms: NewTerms = present({ ...others, stopPx, timeInForce: timeInForce?.toLowerCase() });
    const body = present({ ...replaceBodyOf({ stream, accountId }, terms), supersedes: named });
    const asked = parsedFor(stream, body);
    const client = session.client();
    await callerThatTrades(client);
    const order = await ownOrder(client, stream, orderId, accountId);
    // The reader has not seen a later revision: its replace would be another decision.
    const headers = { 'if-match': `"${order.revision}"` };
    const request = { method: 'PATCH', path: orderPath({ stream, orderId }), body, headers } as const;
    return preview(session, client, {
      kind: 'replace',
      stream,
      accountId,
      symbol: order.order.instrument.symbol,
      terms: { ...asked.terms },
      request,
      order,
      changes: changesOf(order, asked.terms),
      worth: await judgedBy(client, request),
    });
  },
});

function parsedFor(stream: Stream, body: unknown) {
  if (traits[stream].replaces === 'no')
    throw new ToolError(
      'NOT_REPLACEABLE',
      `no order of the stream ${stream} can be replaced: cancel it, and place another once its cancel is applied`,
    );
  return checked(traits[stream].market === 'predictions' ? parseReplace(body) : parseReplaceAccount(body), nameOfTool);
}

/** The requests name two terms in their own way. */
function nameOfTool(term: string): string {
  return { qty: 'quantity', stopPx: 'stopPrice' }[term] ?? term;
}

function changesOf({ order }: ListedOrder, terms: ReplaceTerms): NonNullable<Draft['changes']> {
  const now = new Map(termsOf(order).map((term) => [term.name as string, term.now]));
  return Object.entries(terms).flatMap(([name, to]) => {
    const from = now.get(name);
    if (from === to) return [];
    return [{ term: nameOfTool(name), to, ...(from !== undefined && from !== '' && { from }) }];
  });
}
