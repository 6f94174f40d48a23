import { parseDecimal } from '../../domain/decimal.ts';
import { isInstant } from '../../domain/instant.ts';
import {
  type FieldRule,
  type OrderView,
  orderStatuses,
  orderTable,
  orderWord,
  parseVersion,
  type Stream,
} from '../../domain/order.ts';
import { isPlatformId } from '../../domain/platform-id.ts';
import { canonicalSymbol } from '../../domain/symbol.ts';
import type { DecodedOrder } from '../order-decoder.ts';
import { storableText } from '../parse-json.ts';
import { describeValue } from '../row-reader.ts';

/** How a decoded order breaks the port's one form; undefined if it keeps it. */
export function notCanonical(
  { view, sourceVersion }: DecodedOrder,
  origin: { readonly stream: Stream; readonly accountId: string },
): string | undefined {
  for (const [name, rule] of Object.entries(orderTable) as [keyof OrderView, FieldRule][]) {
    if (rule.own === true) continue;
    const value: unknown = view[name];
    if (value === undefined && rule.required === true) return `${name} is left out`;
    const expected = value === undefined ? undefined : otherForm(rule.kind, value);
    if (expected !== undefined) return `${name} is ${describeValue(value)}, and not ${expected}`;
  }
  if (sourceVersion !== undefined && parseVersion(sourceVersion.toString()) === undefined)
    return `the version ${sourceVersion} is no int64 from 0 on`;
  // It is written out with the order: anything but plain JSON throws here.
  JSON.stringify(view.extra);
  for (const [name, value, isRight, expected] of partsOf(view, origin))
    if (!isRight) return `${name} is ${describeValue(value)}, and not ${expected}`;
  return undefined;
}

/** The form a value lacks. */
function otherForm(kind: FieldRule['kind'], value: unknown): string | undefined {
  if (kind === 'decimal') return parseDecimal(value) === value ? undefined : 'a canonical decimal';
  if (kind === 'instant') return isInstant(value) ? undefined : 'an instant of ISO 8601';
  if (kind !== 'text') return undefined;
  const isText = typeof value === 'string' && value !== '' && value.trim() === value;
  return isText && storableText(value) === value ? undefined : 'a text that can be stored';
}

type Part = readonly [name: string, value: unknown, isRight: boolean, expected: string];

function* partsOf(view: OrderView, origin: { readonly stream: Stream; readonly accountId: string }): Iterable<Part> {
  const { stream, accountId } = origin;
  yield ['stream', view.stream, view.stream === stream, `the stream ${stream}`];
  yield [
    'accountId',
    view.accountId,
    view.accountId === accountId,
    `${accountId}: names.accountId has to say its field`,
  ];
  yield ['orderId', view.orderId, isPlatformId(view.orderId), 'an id'];
  yield ['status', view.status, orderStatuses.includes(view.status), 'a status of ours'];
  for (const name of ['side', 'orderType', 'timeInForce', 'certainty', 'pendingAction'] as const)
    yield [name, view[name], orderWord(view[name]) === view[name], 'a word in small letters'];
  const { instrument, working } = view;
  yield symbolPart('instrument.symbol', instrument.symbol);
  for (const { symbol, ratioQty } of instrument.legs ?? []) {
    yield symbolPart('the symbol of a leg', symbol);
    yield decimalPart('ratioQty of a leg', ratioQty);
  }
  yield ['quantity', view.quantity, (view.quantity ?? view.notional) !== undefined, 'a quantity or an amount of money'];
  if (working.quantity !== undefined) yield decimalPart('working.quantity', working.quantity);
  if (working.price !== undefined) yield decimalPart('working.price', working.price);
}

function symbolPart(name: string, symbol: string): Part {
  return [name, symbol, symbol !== '' && canonicalSymbol(symbol) === symbol, 'a canonical symbol'];
}

function decimalPart(name: string, value: string): Part {
  return [name, value, parseDecimal(value) === value, 'a canonical decimal'];
}
