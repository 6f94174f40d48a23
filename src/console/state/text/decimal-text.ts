// Amounts are decimals as text. They are compared as whole numbers at one scale, never as floating
// point.

/** A sum has some digits more before its point than a decimal. */
const shape = /^(-?)(\d{1,60})(?:\.(\d{1,40}))?$/;
const places = 40;

const mostKnown = 20_000;
/** Few amounts are different ones, and to read one takes 20 times as long as to find it here. */
const known = new Map<string, bigint>();

/** Units of 10^-40, the last place a decimal has; undefined for any text but a plain decimal. */
export function unitsOf(text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined;
  const before = known.get(text);
  if (before !== undefined) return before;
  const units = unitsIn(text);
  if (known.size >= mostKnown) known.clear();
  if (units !== undefined) known.set(text, units);
  return units;
}

function unitsIn(text: string): bigint | undefined {
  const [, sign, whole, fraction = ''] = shape.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const units = BigInt(whole + fraction.padEnd(places, '0'));
  return sign === '-' ? -units : units;
}

/** As typed, without the commas between thousands: `1,000.5` as the console shows it. */
export function plainNumber(typed: string): string {
  const text = typed.trim();
  return /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text) ? text.replaceAll(',', '') : text;
}

/** Orders amounts; missing ones come first. */
export function compareDecimals(a: string | undefined, b: string | undefined): number {
  return compareUnits(unitsOf(a), unitsOf(b));
}

export function compareUnits(left: bigint | undefined, right: bigint | undefined): number {
  if (left === right) return 0;
  if (left === undefined) return -1;
  if (right === undefined) return 1;
  return left < right ? -1 : 1;
}

/** The sum of two amounts, in the shortest plain text; undefined unless both are plain decimals. */
export function addDecimals(a: string, b: string): string | undefined {
  const [left, right] = [unitsOf(a), unitsOf(b)];
  return left === undefined || right === undefined ? undefined : textOfUnits(left + right);
}

export function textOfUnits(units: bigint): string {
  const digits = String(units < 0n ? -units : units).padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${digits.slice(0, -places)}${fraction === '' ? '' : `.${fraction}`}`;
}

/**
 * A quantity at a price, in units of 10^-80: one division less, and that takes longest. Nothing is
 * worth nothing, also without a price.
 */
export function productUnits(quantity: string | undefined, price: string | undefined): bigint | undefined {
  const [amount, each] = [unitsOf(quantity), unitsOf(price)];
  if (amount === 0n) return 0n;
  return amount === undefined || each === undefined ? undefined : amount * each;
}

/** The money for a quantity at a price, to the cent. */
export function moneyText(quantity: string, price: string | undefined): string | undefined {
  const units = productUnits(quantity, price);
  return units === undefined ? undefined : textOfUnits(roundUnits(units, 2, 2 * places));
}

const powers = Array.from({ length: 2 * places + 1 }, (_, at) => 10n ** BigInt(at));

/**
 * In units, with so many decimals at most. Half of the last one counts as a whole. `from`: the
 * amount is in units of 10^-from.
 */
export function roundUnits(amount: bigint, decimals: number, from = places): bigint {
  const last = powers[from - decimals] ?? 1n;
  const half = amount < 0n ? -last / 2n : last / 2n;
  return ((amount + half) / last) * (powers[places - decimals] ?? 1n);
}

/** A decimal for people, in two parts, before and behind its point: `1,234` and `.50`. */
interface AmountText {
  readonly whole: string;
  readonly fraction: string;
}

/** More would hide all other columns. The rest is marked as left out. */
const mostPlaces = 18;

/** `least`: how many decimals it has at least. Any text but a plain decimal stays as it is. */
export function amountParts(text: string, least = 0): AmountText {
  const [, whole, given = ''] = /^(-?\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === undefined) return { whole: text, fraction: '' };
  const digits = given.padEnd(least, '0');
  const fraction = digits.length > mostPlaces ? `${digits.slice(0, mostPlaces)}…` : digits;
  return {
    whole: whole.replace(/\B(?=(?:\d{3})+$)/g, ','),
    fraction: fraction === '' ? '' : `.${fraction}`,
  };
}

export function amountText(text = '–', least = 0): string {
  const { whole, fraction } = amountParts(text, least);
  return whole + fraction;
}

/** How many decimals a price has, and at least two, as money. */
export function placesOf(text: string | undefined): number {
  const point = text?.indexOf('.') ?? -1;
  return Math.min(mostPlaces, Math.max(2, point < 0 ? 0 : (text?.length ?? 0) - point - 1));
}

/**
 * The share of `part` in `whole`, in thousandths from 0 to 1000. Only the whole is 1000, and only
 * nothing is 0.
 */
export function thousandthsOf(part: string | undefined, whole: string | undefined): number {
  const [some, all] = [unitsOf(part), unitsOf(whole)];
  if (some === undefined || all === undefined || all <= 0n || some <= 0n) return 0;
  if (some >= all) return 1000;
  return Math.min(999, Math.max(1, Number((some * 1000n) / all)));
}
