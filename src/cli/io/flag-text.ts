import { InvalidArgumentError } from 'commander';
import { respelledInstant } from '../../domain/instant.ts';

/** Reads a flag whose text has this shape. `fault` is what a person sees for any other text. */
export function shaped(shape: RegExp, fault: string): (text: string) => string {
  return (text) => {
    if (shape.test(text)) return text;
    throw new InvalidArgumentError(fault);
  };
}

/** The same for a number. */
export function shapedNumber(shape: RegExp, fault: string): (text: string) => number {
  const read = shaped(shape, fault);
  return (text) => Number(read(text));
}

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
export function numberBetween(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d{1,9}$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** A field's flag: `if-revision` for `ifRevision`. */
export function flagName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
