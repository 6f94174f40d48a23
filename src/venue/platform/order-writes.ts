import { z } from 'zod';
import type { CommandRequest } from '../../domain/command.ts';
import { parseSpelledDecimal } from '../../domain/decimal.ts';
import { orderWord } from '../../domain/order.ts';
import { isPlatformId } from '../../domain/platform-id.ts';
import { canonicalSymbol } from '../../domain/symbol.ts';
import { directionOf } from '../../domain/view-content.ts';
import type { HttpResult } from '../http.ts';
import { evidenceOf } from '../judge-write.ts';
import { addressFault, notAnId, queryText } from '../order-address.ts';
import type { Fields } from '../row-reader.ts';
import { notSent, type WriteAnswer, type WriteOptions, type WriteResult } from '../write-result.ts';
import { type WriteDeps, writeVenue } from '../write-venue.ts';
import { judgeWrite, type WriteReading } from './judge-write.ts';
import { platformDialect } from './read-platform.ts';
import { neededText, optionalText } from './wire/optional-field.ts';
import { ordersPath, predictionOrdersPath, rawPredictionAnswer } from './wire/order-pages.ts';
import { orderRequest, orderResponse, predictionOrderRequest, replaceRequest } from './wire/order-writes.ts';

export interface WriteAddresses {
  /** Production's REST base: equity and option orders. */
  readonly platformUrl: string;
  /** The REST base for prediction orders; left out if there is none. */
  readonly stagingUrl?: string;
}

/** Names for the platform's writes: a metric label. */
export type WriteName =
  | 'place_order'
  | 'cancel_order'
  | 'place_prediction_order'
  | 'replace_prediction_order'
  | 'cancel_prediction_order';

/** One write of an order: its body, and how its answer is read. */
interface Write extends Omit<WriteReading, 'read'> {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  /** The body is checked against it, strictly, before a connection is made. */
  readonly body?: z.ZodType<Fields>;
  /** The body's field with our reference: the order is found again by it. */
  readonly reference?: string;
  /** A success's content, without its envelope. */
  readonly answer: z.ZodType<Fields>;
  /** Its shape comes from here. `contract`: docs/platform-assumptions.md. */
  readonly source: 'specification' | 'contract';
  /** An answer is known by this field to be about our order: it has to be there. */
  readonly names: string;
  /**
   * A place: the answer's field with the order's id. Where the reference is left out, the order is
   * known by it if the terms are those that were sent.
   */
  readonly orderId?: string;
  /**
   * The answer's fields that have the terms, each with its field in the body. An answer without our
   * reference has to have all of them that were sent: it may be about any order of the account.
   */
  readonly terms?: Readonly<Record<string, string>>;
  /**
   * The answer's fields that repeat the body, each with its field there. All but `names` may be
   * left out.
   */
  readonly repeats: Readonly<Record<string, string>>;
  /** The fields that show the result, kept as evidence. */
  readonly evidence: readonly string[];
  /**
   * Whether the answer is an order with its id, for ingest. Otherwise the first observation with
   * our reference names the id.
   */
  readonly showsOrder: boolean;
}

const predictionContent = rawPredictionAnswer.transform(({ data }) => data);

/**
 * The answers to the three prediction writes (specification, "Prediction order errors";
 * docs/platform-assumptions.md: place and cancel answer alike).
 */
const prediction = {
  refusals: new Set([400, 404, 409]),
  promisesNotSent: true,
  answer: predictionContent.pipe(z.looseObject({ orderId: neededText })),
  source: 'specification',
  names: 'orderId',
  repeats: { orderId: 'orderId', accountId: 'accountId' },
  evidence: [
    'orderId',
    'clientOrderRef',
    'state',
    'certainty',
    'pendingAction',
    'version',
    'quantity',
    'workingQuantity',
    'price',
    'workingPrice',
    'cumQty',
    'leavesQty',
    'rejectReason',
    'rejectText',
    'updatedAt',
  ],
  showsOrder: true,
} as const;

const writes = {
  // `POST /v1/orders` (specification). Only 400, 401 and 403 say that nothing was done: no other
  // status is documented.
  place_order: {
    method: 'POST',
    body: orderRequest.required({ clientId: true }),
    reference: 'clientId',
    refusals: new Set([400]),
    promisesNotSent: false,
    answer: orderResponse,
    source: 'specification',
    names: 'clOrdId',
    orderId: 'ordId',
    terms: { symbol: 'symbol', side: 'side', qty: 'qty' },
    repeats: { clOrdId: 'clientId', accountId: 'accountId', side: 'side' },
    evidence: [
      'success',
      'clOrdId',
      'ordId',
      'status',
      'symbol',
      'side',
      'qty',
      'cumQty',
      'leavesQty',
      'avgPrice',
      'text',
      'ordRejReason',
      'transactTime',
    ],
    showsOrder: false,
  },
  // `DELETE /v1/orders/{ordId}?accountId=` (docs/platform-assumptions.md). Accepted: the cancel was
  // asked for; the order shows if it happens.
  cancel_order: {
    method: 'DELETE',
    refusals: new Set([400, 404, 409]),
    promisesNotSent: false,
    answer: z.looseObject({ ordId: neededText }),
    source: 'contract',
    names: 'ordId',
    repeats: { ordId: 'orderId', accountId: 'accountId' },
    evidence: ['ordId', 'clOrdId', 'ordStatus', 'qty', 'cumQty', 'leavesQty', 'updatedAt'],
    showsOrder: true,
  },
  // `POST /v1/predictions/orders` (docs/platform-assumptions.md), on staging. Accepted:
  // `pending_new`, the venue has not answered.
  place_prediction_order: {
    ...prediction,
    method: 'POST',
    body: predictionOrderRequest.required({ clientOrderRef: true }),
    reference: 'clientOrderRef',
    answer: predictionContent.pipe(z.looseObject({ orderId: optionalText, clientOrderRef: optionalText })),
    names: 'clientOrderRef',
    orderId: 'orderId',
    terms: { symbol: 'symbol', side: 'side', quantity: 'quantity', price: 'price' },
    repeats: {
      accountId: 'accountId',
      clientOrderRef: 'clientOrderRef',
      side: 'side',
    },
  },
  // `PATCH /v1/predictions/orders/{orderId}` (specification), on staging. Accepted: seen pending,
  // not yet applied.
  replace_prediction_order: { ...prediction, method: 'PATCH', body: replaceRequest },
  // `DELETE /v1/predictions/orders/{orderId}?accountId=` (docs/platform-assumptions.md), on
  // staging. Accepted: the cancel awaits the venue.
  cancel_prediction_order: { ...prediction, method: 'DELETE' },
} as const satisfies Record<WriteName, Write>;

/**
 * A command's one write, to the address that takes it, with the attempt's id as our reference. A
 * request that breaks the platform's own rules is never sent.
 */
export async function writeOrder(
  deps: WriteDeps,
  { platformUrl, stagingUrl }: WriteAddresses,
  request: CommandRequest,
  attemptId: string,
  options: WriteOptions,
): Promise<WriteResult> {
  const baseUrl = request.stream === 'account' ? platformUrl : stagingUrl;
  if (baseUrl === undefined) return notSent('NOT_CONFIGURED', 'there is no address for prediction orders');
  const prepared = prepareWrite(request, attemptId);
  if ('kind' in prepared) return prepared;
  const { name, path, reading, ...call } = prepared;
  const judge = (observed: HttpResult) => judgeWrite(observed, reading);
  return writeVenue(deps, platformDialect.sign, { ...call, operation: name, url: `${baseUrl}${path}`, judge }, options);
}

/** The result of a command's write, by what was observed of it. Pure. */
export function judgeOrderWrite(request: CommandRequest, attemptId: string, observed: HttpResult): WriteResult {
  const prepared = prepareWrite(request, attemptId);
  return 'kind' in prepared ? prepared : judgeWrite(observed, prepared.reading);
}

/** A write before its address and its token; or why there is none. */
interface PreparedWrite {
  readonly name: WriteName;
  readonly method: Write['method'];
  readonly path: string;
  readonly body?: string;
  readonly reading: WriteReading;
}

function prepareWrite(request: CommandRequest, attemptId: string): PreparedWrite | WriteResult {
  const { stream, accountId } = request;
  const name = writeName(request);
  const write: Write = writes[name];
  const terms = request.kind === 'cancel' ? {} : request.terms;
  const body = write.body?.safeParse({ ...terms, accountId, ...(write.reference && { [write.reference]: attemptId }) });
  if (body?.success === false) return notSent('INVALID_REQUEST', z.prettifyError(body.error));
  let path: string = stream === 'account' ? ordersPath : predictionOrdersPath;
  if (request.kind !== 'place') {
    const fault = isPlatformId(accountId) ? addressFault(request.orderId) : notAnId;
    if (fault !== undefined) return notSent(fault.code, fault.message);
    path += `/${encodeURIComponent(request.orderId)}`;
  }
  if (write.method === 'DELETE') path += queryText({ accountId });
  const sent = { ...request, ...body?.data };
  const read = (value: unknown) => readAnswer(write, value, sent);
  return {
    name,
    method: write.method,
    path,
    ...(body && { body: JSON.stringify(body.data) }),
    reading: { ...write, read },
  };
}

function writeName({ stream, kind }: CommandRequest): WriteName {
  if (stream === 'account') return kind === 'cancel' ? 'cancel_order' : 'place_order';
  return `${kind}_prediction_order`;
}

function readAnswer(write: Write, value: unknown, sent: Fields): WriteAnswer | string {
  const parsed = write.answer.safeParse(value);
  if (!parsed.success) return `the answer has another shape than the ${write.source} says`;
  const order = parsed.data;
  if (Object.entries(write.repeats).some(([field, of]) => contradicts(field, order[field], sent[of])))
    return 'the answer is about another order';
  const orderId = idIn(order, write.orderId);
  const isNamed = isThere(order[write.names]);
  if (!isNamed && (orderId === undefined || !hasTerms(write, order, sent))) return 'the answer does not name the order';
  const answer = evidenceOf(order, write.evidence);
  const onlyId = isNamed || orderId === undefined ? undefined : { orderId };
  // An answer by our reference alone shows no order that could be stored.
  const shows = write.orderId === undefined || orderId !== undefined;
  if (write.showsOrder) return { kind: 'accepted', answer, ...(shows && { order }), ...onlyId };
  if (order['success'] === true) return { kind: 'accepted', answer, ...onlyId };
  const { ordRejReason, text } = answer;
  const code = String(ordRejReason ?? 'REJECTED')
    .slice(0, 100)
    .toWellFormed();
  return { kind: 'rejected', answer, reason: { code, message: String(text ?? code) }, ...onlyId };
}

function idIn(order: Fields, field: string | undefined): string | undefined {
  const id = field === undefined ? undefined : order[field];
  return typeof id === 'string' && isPlatformId(id) ? id : undefined;
}

/**
 * The platform may name the side otherwise than the request did: its direction is enough. Nor does
 * another spelling of a symbol or a number contradict, nor what is left out.
 */
function contradicts(field: string, answered: unknown, sent: unknown): boolean {
  if (!isThere(answered)) return false;
  const [theirs, ours] = [answered, sent].map((value) => spelledValue(field, String(value)));
  return theirs !== ours;
}

function spelledValue(field: string, text: string): string {
  if (field === 'side') return directionOf(orderWord(text.trim()));
  if (field === 'symbol') return canonicalSymbol(text);
  return decimalTerms.has(field) ? (parseSpelledDecimal(text) ?? text) : text;
}

const decimalTerms: ReadonlySet<string> = new Set(['qty', 'quantity', 'price']);

function hasTerms({ terms = {} }: Write, order: Fields, sent: Fields): boolean {
  return Object.entries(terms).every(
    ([field, of]) => !isThere(sent[of]) || (isThere(order[field]) && !contradicts(field, order[field], sent[of])),
  );
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
