import { InvalidArgumentError } from 'commander';
import { respelledInstant } from '../../domain/instant.ts';

/**
 * Reads a flag whose text has this shape. `fault` is what a person sees for any other text. Without
 * `read` it stays text.
 */
export function shaped<T = string>(
  shape: RegExp,
  fault: string,
  read = (text: string) => text as T,
): (text: string) => T {
  return (text) => {
    if (shape.test(text)) return read(text);
    throw new InvalidArgumentError(fault);
  };
}

export const wholeNumber = shaped(/^\d{1,9}$/, 'It must be a whole number.', Number);
export const positiveNumber = shaped(/^[1-9]\d{0,14}$/, 'It must be a whole number above 0.', Number);

/**
 * Reads an instant, in milliseconds since the epoch; a date alone begins in UTC. A local time is
 * refused: it would depend on the zone of this process, and a change of clocks skips some and has
 * others twice.
 */
export function instantFlag(text: string): number {
  const instant = respelledInstant(/^[\d-]+$/.test(text) ? `${text}T00:00Z` : text);
  if (instant !== undefined) return Date.parse(instant);
  throw new InvalidArgumentError('It must be an instant with its zone like 2026-11-20T14:30:00Z, or a date (of UTC).');
}

/** A whole number in a range. */
export function numberBetween(
  least: number,
  most: number,
  fault = `It must be a whole number from ${least} to ${most}.`,
): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d{1,9}$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(fault);
  };
}

/** A field's flag: `if-revision` for `ifRevision`. */
export function flagName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
