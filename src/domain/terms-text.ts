/**
 * The terms of a command in the words of the trade: `buy 10 AAPL limit at 187.5, day`. A field
 * without a place in this sentence follows it by name. For the command line, an assistant and the
 * console.
 */
export function termsText(kind: string, terms: Readonly<Record<string, unknown>> = {}): string {
  if (kind === 'cancel') return 'cancel the order';
  const { symbol, outcome, side, type, orderType, qty, quantity, price, stopPrice, stopPx, ...later } = terms;
  const { timeInForce, legs, ...others } = later;
  const instrument = [symbol, outcome].filter((part) => part !== undefined).map(valueText);
  const main = [
    kind === 'replace' ? 'to' : undefined,
    word(side),
    qty ?? quantity,
    instrument.length === 0 ? undefined : instrument.join('/'),
    word(type ?? orderType),
    price === undefined ? undefined : `at ${valueText(price)}`,
    stopPrice === undefined && stopPx === undefined ? undefined : `stop ${valueText(stopPrice ?? stopPx)}`,
  ].filter((part) => part !== undefined);
  const rest = [
    ...(timeInForce === undefined ? [] : [word(timeInForce)]),
    ...(Array.isArray(legs) && legs.length > 0 ? [`${legs.length} leg${legs.length === 1 ? '' : 's'}`] : []),
    ...Object.entries(others).map(([name, value]) => `${name} ${valueText(value)}`),
  ];
  return [main.map(valueText).join(' '), ...rest].filter((part) => part !== '').join(', ');
}

function word(value: unknown): string | undefined {
  return value === undefined ? undefined : valueText(value).toLowerCase().replaceAll('_', ' ');
}

function valueText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
