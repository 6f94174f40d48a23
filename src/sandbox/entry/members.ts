import { type Fixed, parseFixed } from '../exchange/fixed.ts';

/** A member that breaks a rule of its field. Thrown inside a reader of one request, and turned into its refusal there. */
export class MemberFault extends Error {}

/**
 * Reads the members of one request by their rules. Each method answers with the value, or with undefined where an optional member is left out, and
 * throws a `MemberFault` that names the member. Lengths count characters as people do, not UTF-16 units.
 */
export class Members {
  private readonly members: Readonly<Record<string, unknown>>;

  constructor(members: Readonly<Record<string, unknown>>) {
    this.members = members;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.members, name);
  }

  raw(name: string): unknown {
    return this.has(name) ? this.members[name] : undefined;
  }

  /** The first name that is not one of `known`. */
  unknownOf(known: ReadonlySet<string>): string | undefined {
    return Object.keys(this.members).find((name) => !known.has(name));
  }

  text(name: string, bounds: { readonly min?: number; readonly max?: number } = {}): string | undefined {
    if (!this.has(name)) return undefined;
    const value = this.members[name];
    if (typeof value !== 'string') throw new MemberFault(`${name} must be a string`);
    const length = [...value].length;
    const { min = 0, max = Number.POSITIVE_INFINITY } = bounds;
    if (length >= min && length <= max) return value;
    throw new MemberFault(min === max ? `${name} must have ${min} characters` : `${name} must have ${min} to ${max} characters`);
  }

  word<T extends string>(name: string, words: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const known = words.find((word) => word === value);
    if (known === undefined) throw new MemberFault(`${name} must be one of ${words.join(', ')}`);
    return known;
  }

  /** A plain decimal string above zero. */
  decimal(name: string): Fixed | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = parseFixed(text);
    if (value === undefined) throw new MemberFault(`${name} must be a plain decimal string`);
    if (value === 0n) throw new MemberFault(`${name} must be greater than zero`);
    return value;
  }
}

/** The value of a member that has to be there. */
export function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new MemberFault(`${name} is missing`);
  return value;
}
