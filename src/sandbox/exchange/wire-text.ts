/**
 * The venue's exact decimals: a bigint counts units of 10^-12, the finest that an order may name
 * (18 + 12 digits). A fill costs an addition, a division and three conversions to text. This takes
 * half as long as with decimal.js and covers all 30 digits; the loop has to stay far below 20 µs an
 * update.
 */
export type Fixed = bigint;

const fractionDigits = 12;
const unit = 10n ** 12n;
const plain = /^(0|[1-9]\d{0,17})(?:\.(\d{1,12}))?$/;

/**
 * A decimal text's number, or undefined when it isn't one (sign, exponent, leading zero, more than
 * 18 + 12 digits).
 */
export function parseFixed(text: string): Fixed | undefined {
  const match = plain.exec(text);
  if (match === null) return undefined;
  return BigInt(`${match[1] ?? '0'}${(match[2] ?? '').padEnd(fractionDigits, '0')}`);
}

/** A text made by the sandbox itself. Throws on anything else. */
export function fixed(text: string): Fixed {
  const value = parseFixed(text);
  if (value === undefined) throw new Error(`not a decimal: ${text}`);
  return value;
}

/** Whole units: 100 shares, 3 contracts. */
export function whole(count: number): Fixed {
  return BigInt(count) * unit;
}

/**
 * Canonical text: no trailing zeros, no point without digits behind it. For values of zero and
 * above.
 */
export function formatFixed(value: Fixed): string {
  const digits = value.toString().padStart(fractionDigits + 1, '0');
  const point = digits.length - fractionDigits;
  let end = digits.length;
  while (end > point && digits.charCodeAt(end - 1) === 48) end -= 1;
  return end === point ? digits.slice(0, point) : `${digits.slice(0, point)}.${digits.slice(point, end)}`;
}

/** Price times quantity, in units of 10^-24, so that an average stays exact until it is divided. */
export type Notional = bigint;

/**
 * The average price of `quantity` for `notional`, cut (not rounded) to 12 digits; 0 before anything
 * was filled.
 */
export function averagePrice(notional: Notional, quantity: Fixed): Fixed {
  return quantity === 0n ? 0n : notional / quantity;
}

/**
 * Microseconds since the epoch: below 2^53 until the year 2255, and fine enough: no two changes
 * share an instant.
 */
export type Micros = number;

// The text up to the second is the expensive part (0.35 µs by `toISOString`). An update shows up to
// five instants, and most were seen lately.
const slots = 4096;
const seconds = new Float64Array(slots).fill(-1);
const prefixes: string[] = new Array(slots).fill('');

/** ISO 8601 in UTC with six digits: `2026-11-21T12:16:05.000123Z`. */
export function instantText(at: Micros): string {
  const second = Math.floor(at / 1_000_000);
  const slot = second % slots;
  if (seconds[slot] !== second) {
    seconds[slot] = second;
    prefixes[slot] = new Date(second * 1000).toISOString().slice(0, 20);
  }
  return `${prefixes[slot]}${String(at - second * 1_000_000).padStart(6, '0')}Z`;
}

const plainText = /^[\w.:@/ +-]*$/;

/**
 * A JSON string. Nearly all ours need no escaping, and the test for it costs half of
 * `JSON.stringify`.
 */
export function jsonText(value: string): string {
  return plainText.test(value) ? `"${value}"` : JSON.stringify(value);
}
