// Amounts are decimals as text. They are compared as whole numbers at one scale, never as floating
// point.

/** A sum has some digits more before its point than a decimal. */
const shape = /^(-?)(\d{1,60})(?:\.(\d{1,40}))?$/;
const places = 40;

/** Units of 10^-40, the last place a decimal has; undefined for any text but a plain decimal. */
function unitsOf(text: string | undefined): bigint | undefined {
  const parts = text === undefined ? null : shape.exec(text);
  if (parts === null) return undefined;
  const [, sign, whole = '0', fraction = ''] = parts;
  const units = BigInt(whole + fraction.padEnd(places, '0'));
  return sign === '-' ? -units : units;
}

/** Orders amounts; missing ones come first. */
export function compareDecimals(a: string | undefined, b: string | undefined): number {
  const [left, right] = [unitsOf(a), unitsOf(b)];
  if (left === right) return 0;
  if (left === undefined) return -1;
  if (right === undefined) return 1;
  return left < right ? -1 : 1;
}

/** The sum of two amounts, in the shortest plain text; undefined unless both are plain decimals. */
export function addDecimals(a: string, b: string): string | undefined {
  const [left, right] = [unitsOf(a), unitsOf(b)];
  if (left === undefined || right === undefined) return undefined;
  const sum = left + right;
  const digits = String(sum < 0n ? -sum : sum).padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -places)}${fraction === '' ? '' : `.${fraction}`}`;
}

/**
 * The share of `part` in `whole`, in thousandths from 0 to 1000. Only the whole is 1000, and only
 * nothing is 0.
 */
export function thousandthsOf(part: string, whole: string): number {
  const [some, all] = [unitsOf(part), unitsOf(whole)];
  if (some === undefined || all === undefined || all <= 0n || some <= 0n) return 0;
  if (some >= all) return 1000;
  return Math.min(999, Math.max(1, Number((some * 1000n) / all)));
}
