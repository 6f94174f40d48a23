import { parseDecimal } from './decimal.ts';

/** Checks a value read from JSON. */
export type Check = (value: unknown) => boolean;

export const text: Check = (value) => typeof value === 'string';
export const decimal: Check = (value) => value !== undefined && parseDecimal(value) === value;
export const natural: Check = (value) => Number.isSafeInteger(value) && (value as number) > 0;
/** From zero. */
export const count: Check = (value) => value === 0 || natural(value);
export const object: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
export const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
export const oneOf = (...words: readonly string[]): Check => {
  const known = new Set<unknown>(words);
  return (value) => known.has(value);
};
export const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);

/** Each field by its own check. Other fields, perhaps a newer build's, are let be. */
export function fields(checks: Readonly<Record<string, Check>>): Check {
  const entries = Object.entries(checks);
  return (value) => object(value) && entries.every(([name, check]) => check((value as Record<string, unknown>)[name]));
}

/** The first field to fail its check, after `name`; undefined: all pass. */
export function faultOf(name: string, checks: Readonly<Record<string, Check>>, value: unknown): string | undefined {
  if (!object(value)) return name;
  for (const field in checks)
    if (checks[field]?.((value as Record<string, unknown>)[field]) === false) return `${name}.${field}`;
  return undefined;
}
