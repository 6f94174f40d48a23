import { plural } from '../plural.ts';

/** The terms of a command in the words of the trade: "buy 10 AAPL limit at 187.5, day". Whatever field there is that this sentence has no place for follows it by name. */
export function describeTerms(kind: string, terms: Readonly<Record<string, unknown>>): string {
  if (kind === 'cancel') return 'cancel the order';
  const { symbol, outcome, side, type, orderType, qty, quantity, price, stopPrice, stopPx, timeInForce, legs, ...others } = terms;
  const total = qty ?? quantity;
  const stop = stopPrice ?? stopPx;
  const instrument = symbol === undefined ? undefined : `${text(symbol)}${outcome === undefined ? '' : `/${text(outcome)}`}`;
  const words = [
    kind === 'replace' ? 'to' : undefined,
    side === undefined ? undefined : text(side).toLowerCase(),
    total === undefined ? undefined : text(total),
    instrument,
    type === undefined && orderType === undefined ? undefined : text(type ?? orderType).toLowerCase(),
    price === undefined ? undefined : `at ${text(price)}`,
    stop === undefined ? undefined : `stop ${text(stop)}`,
  ].filter((word) => word !== undefined);
  const rest = [
    ...(timeInForce === undefined ? [] : [text(timeInForce).toLowerCase()]),
    ...(Array.isArray(legs) && legs.length > 0 ? [plural(legs.length, 'leg')] : []),
    ...Object.entries(others).map(([name, value]) => `${name} ${text(value)}`),
  ];
  return [words.join(' '), ...rest].filter((part) => part !== '').join(', ');
}

function text(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
