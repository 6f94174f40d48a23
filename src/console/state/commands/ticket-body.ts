import type { Stream } from '../../../../types/records.d.ts';
import type { AccountListDocument } from '../../../contract/account-answers.ts';
import type { PlaceAccountBody, PlacePredictionBody } from '../../../contract/command-bodies.ts';
import type { CommandAnswer } from '../../../contract/rest-answers.ts';
import { accountText, isNamed, traits } from '../../../domain/streams.ts';
import type { Problem } from '../rest.ts';
import { plainNumber, unitsOf } from '../text/decimal-text.ts';

export type TicketKind = 'equity' | 'option' | 'prediction';
type Body = PlaceAccountBody | PlacePredictionBody;

/**
 * A ticket as typed: every field is text, or empty. Sides, types and times in force are in the
 * words of their endpoint.
 */
export interface TicketFields {
  readonly kind: TicketKind;
  readonly accountId: string;
  /** The account's, for equities and options; empty: the usual one. */
  readonly stream: string;
  readonly symbol: string;
  readonly outcome: string;
  readonly side: string;
  readonly type: string;
  readonly timeInForce: string;
  readonly quantity: string;
  readonly price: string;
  readonly stopPrice: string;
  readonly expireTime: string;
  /** `extended`: also before and after the regular session. */
  readonly hours: string;
  readonly reference: string;
  readonly legs: readonly TicketLeg[];
  /** The command it supersedes: it comes by the address only. */
  readonly supersedes: string;
}

export interface TicketLeg {
  readonly symbol: string;
  readonly side: string;
  readonly ratioQty: string;
  readonly positionEffect: string;
}

export const mostLegs = 4;
export const emptyLeg: TicketLeg = { symbol: '', side: '', ratioQty: '1', positionEffect: 'OPEN' };

/**
 * The first choices on a ticket: the ones that do the least. No side does, nor an outcome: the
 * reader chooses.
 */
export function firstWords(kind: TicketKind): Pick<TicketFields, 'kind' | 'side' | 'type' | 'timeInForce'> {
  return kind === 'prediction'
    ? { kind, side: '', type: 'limit', timeInForce: 'day' }
    : { kind, side: '', type: 'LIMIT', timeInForce: 'DAY' };
}

export function emptyFields(kind: TicketKind = 'equity'): TicketFields {
  const texts = {
    accountId: '',
    stream: '',
    symbol: '',
    outcome: '',
    quantity: '',
    price: '',
    stopPrice: '',
    expireTime: '',
    hours: '',
    reference: '',
    supersedes: '',
  };
  return { ...firstWords(kind), ...texts, legs: [emptyLeg] };
}

/** The fields for a ticket with these choices; others are neither shown nor sent. */
export function fieldsShown({ kind, type, timeInForce, stream }: TicketFields) {
  const isPrediction = kind === 'prediction';
  return {
    outcome: isPrediction,
    legs: kind === 'option',
    // An option has the side of its first leg.
    side: kind !== 'option',
    price: /limit$/i.test(type),
    stopPrice: /^stop/i.test(type),
    expireTime: isPrediction && timeInForce === 'gtd',
    hours:
      Object.entries(traits).some(([name, { extendedHours }]) => name === stream && extendedHours) &&
      type === 'LIMIT' &&
      ['DAY', 'GTC'].includes(timeInForce),
  };
}

/** Whether each field that the order needs has a text; the service judges what it says. */
export function isWhole(fields: TicketFields): boolean {
  const { reference: _reference, supersedes: _supersedes, stream: _stream, hours: _hours, ...needed } = fields;
  const shown = new Map<string, boolean>(Object.entries(fieldsShown(fields)));
  const legs = shown.get('legs') === true ? fields.legs : [];
  return (
    Object.keys(needed).every((name) => shown.get(name) === false || !isEmpty(fields, name)) &&
    legs.every((leg) => Object.values<string>({ ...leg }).every((text) => text.trim() !== ''))
  );
}

/** One at the market in place of what is not chosen yet: its preview has the quotes of the rest. */
export function forQuotes(fields: TicketFields): TicketFields {
  const legs = fields.legs.map((leg) => ({ ...leg, side: leg.side || 'BUY' }));
  return { ...fields, side: 'BUY', type: 'MARKET', timeInForce: 'DAY', quantity: '1', legs };
}

/**
 * The ticket's path and exact body. Only the service judges it: empty fields that it needs come
 * back as its faults.
 */
export function requestOf(fields: TicketFields): { readonly path: string; readonly body: Body } {
  return fields.kind === 'prediction'
    ? { path: '/v1/predictions/orders', body: predictionBody(fields) }
    : { path: '/v1/orders', body: accountBody(fields) };
}

function accountBody(fields: TicketFields): PlaceAccountBody {
  const shown = fieldsShown(fields);
  const legs = fields.legs.map((leg) => ({ ...leg, symbol: leg.symbol.trim(), ratioQty: plainNumber(leg.ratioQty) }));
  const side = shown.legs ? (legs[0]?.side ?? fields.side) : fields.side;
  return withoutEmpty<PlaceAccountBody>({
    accountId: fields.accountId,
    stream: fields.stream,
    symbol: fields.symbol,
    side,
    type: fields.type,
    qty: plainNumber(fields.quantity),
    timeInForce: fields.timeInForce,
    price: shown.price ? plainNumber(fields.price) : '',
    stopPrice: shown.stopPrice ? plainNumber(fields.stopPrice) : '',
    extendedHours: (shown.hours && fields.hours === 'extended') || '',
    clientId: fields.reference,
    ...(shown.legs && { legs }),
    supersedes: fields.supersedes,
  });
}

function predictionBody(fields: TicketFields): PlacePredictionBody {
  const shown = fieldsShown(fields);
  return withoutEmpty<PlacePredictionBody>({
    accountId: fields.accountId,
    symbol: fields.symbol,
    outcome: fields.outcome,
    side: fields.side,
    orderType: fields.type,
    timeInForce: fields.timeInForce,
    quantity: plainNumber(fields.quantity),
    price: shown.price ? plainNumber(fields.price) : '',
    stopPx: shown.stopPrice ? plainNumber(fields.stopPrice) : '',
    expireTime: shown.expireTime ? fields.expireTime : '',
    clientOrderRef: fields.reference,
    supersedes: fields.supersedes,
  });
}

/** The shapes of the bodies are the goal, not a promise: the service says what does not fit. */
function withoutEmpty<T extends Body>(fields: Readonly<Partial<Record<keyof T, unknown>>>): T {
  const given = Object.entries<unknown>(fields).map(
    ([name, value]) => [name, typeof value === 'string' ? value.trim() : value] as const,
  );
  return Object.fromEntries(given.filter(([, value]) => value !== '')) as unknown as T;
}

/** The ticket's field for a name in a body; the others have one name. */
const fieldsInBody: Readonly<Record<string, keyof TicketFields>> = {
  orderType: 'type',
  qty: 'quantity',
  stopPx: 'stopPrice',
  extendedHours: 'hours',
  clientId: 'reference',
  clientOrderRef: 'reference',
};

/**
 * A place's terms as a ticket's fields, without its reference and key. Undefined if a ticket lacks
 * a field for one, such as the currency: it would be another order.
 */
export function fieldsOf({ stream, accountId, terms = {} }: Placed): TicketFields | undefined {
  const { legs, extendedHours, ...rest } = terms;
  const texts = { ...rest, ...(extendedHours === true && { extendedHours: 'extended' }) };
  const fields: [name: string, text: string][] = [];
  for (const [name, text] of Object.entries(texts)) {
    const field = fieldOfPath(name);
    if (field === undefined || typeof text !== 'string') return undefined;
    fields.push([field, text]);
  }
  const kind = traits[stream].market === 'predictions' ? 'prediction' : Array.isArray(legs) ? 'option' : 'equity';
  return {
    ...{ ...emptyFields(kind), accountId, stream: namedStream(stream), ...Object.fromEntries(fields) },
    ...(Array.isArray(legs) && { legs: legs.map((leg: Partial<TicketLeg>) => ({ ...emptyLeg, ...leg })) }),
  };
}

/** The stream of an account, as a ticket names it: not the usual one. */
export function namedStream(stream: Stream): string {
  return isNamed(stream) ? stream : '';
}

type Accounts = AccountListDocument['items'];

/** The accounts for orders of the ticket's kind, by their words for people. */
export function accountsFor({ kind }: TicketFields, accounts: Accounts): ReadonlyMap<string, Accounts[number]> {
  const market = kind === 'prediction' ? 'predictions' : 'securities';
  const fitting = accounts.filter(({ stream }) => traits[stream].market === market);
  return new Map(fitting.map((account) => [accountText(account), account]));
}

/** The ticket's account; without a known stream, the first with its id. */
export function accountOf({ accountId, stream }: TicketFields, accounts: ReturnType<typeof accountsFor>) {
  const named = [...accounts.values()].filter((account) => account.accountId === accountId);
  return named.find((account) => namedStream(account.stream) === stream) ?? named[0];
}

type Placed = Pick<CommandAnswer, 'stream' | 'accountId' | 'terms'>;

/** The ticket's field for the path in a fault; undefined: it has none. */
function fieldOfPath(path: string): string | undefined {
  if (/^legs\[\d\]\.\w+$/.test(path)) return path;
  const field = fieldsInBody[path] ?? path;
  return typeof Reflect.get(emptyFields(), field) === 'string' ? field : undefined;
}

function textOf(fields: TicketFields, field: string): string | undefined {
  const [, at, name] = /^legs\[(\d)\]\.(\w+)$/.exec(field) ?? [];
  const holder = at === undefined ? fields : fields.legs[Number(at)];
  const value = Object.entries({ ...holder }).find(([key]) => key === (name ?? field))?.[1];
  return typeof value === 'string' ? value.trim() : undefined;
}

/** Whether a field is empty: `symbol`, or `legs[1].symbol`. */
export function isEmpty(fields: TicketFields, field: string): boolean {
  return textOf(fields, field) === '';
}

/** The service's faults by the ticket's field. `why`: those without a field, in one text. */
export function faultsIn(given: Problem['faults'], fields: TicketFields) {
  const byField = new Map<string, string>();
  const others: string[] = [];
  for (const { path, message } of given) {
    const field = fieldOfPath(path);
    if (field === undefined) others.push(`${path} ${message}`.trim());
    else byField.set(field, faultWords(fields, field, message));
  }
  return { faults: byField, why: others.join('; ') || undefined };
}

/** The service says how programs write a value: of none, or of no number, a person reads that. */
function faultWords(fields: TicketFields, field: string, message: string): string {
  const text = textOf(fields, field);
  if (text === '') return 'is missing';
  const isNumber = /^(quantity|price|stopPrice|legs\[\d\]\.ratioQty)$/.test(field);
  return isNumber && unitsOf(plainNumber(text ?? '')) === undefined ? 'is not a number such as 12.5' : message;
}
