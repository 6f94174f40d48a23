import { isUtf8 } from 'node:buffer';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { type Fixed, parseFixed } from '../exchange/wire-text.ts';
import { mediaTypeOf } from '../rest/read-request.ts';
import type { EntryFault } from './write.ts';

export type Fields = Readonly<Record<string, unknown>>;

/**
 * A JSON object's members, or the bytes' fault (specification, "Prediction order errors";
 * docs/platform-assumptions.md: `[]` and `null` are `INVALID_ORDER`). Assumption: a body that does
 * not call itself `application/json` is `INVALID_JSON`.
 */
type BodyResult = { readonly members: Fields } | { readonly fault: EntryFault; readonly message: string };

export function readBody(body: unknown, contentType: string | undefined): BodyResult {
  if (!Buffer.isBuffer(body) || body.length === 0) return { fault: 'EMPTY_BODY', message: 'The body is missing' };
  if (!isUtf8(body)) return { fault: 'INVALID_JSON', message: 'The body is not UTF-8' };
  const text = body.toString('utf8');
  if (text.trim() === '') return { fault: 'EMPTY_BODY', message: 'The body is missing' };
  if (mediaTypeOf(contentType) !== 'application/json')
    return { fault: 'INVALID_JSON', message: 'The content type is not application/json' };
  const value = jsonOrUndefined(text);
  if (value === undefined) return { fault: 'INVALID_JSON', message: 'The body is not JSON' };
  if (isObject(value)) return { members: value };
  return { fault: 'INVALID_ORDER', message: 'The body must be a JSON object' };
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A member breaks its field's rule. Thrown inside a request's reader, and turned into its refusal
 * there.
 */
export class MemberFault extends Error {}

/**
 * Reads one request's members by their rules. Each method answers with the value, or with undefined
 * if an optional member is left out, and throws a `MemberFault` that names the member. Lengths
 * count characters as people do, not UTF-16 units.
 */
export class Members {
  private readonly members: Fields;

  constructor(members: Fields) {
    this.members = members;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.members, name);
  }

  raw(name: string): unknown {
    return this.has(name) ? this.members[name] : undefined;
  }

  /** The first name that is no key of `known`. */
  unknownOf(known: object): string | undefined {
    return Object.keys(this.members).find((name) => !Object.hasOwn(known, name));
  }

  text(name: string, bounds: { readonly min?: number; readonly max?: number } = {}): string | undefined {
    if (!this.has(name)) return undefined;
    const value = this.members[name];
    if (typeof value !== 'string') throw new MemberFault(`${name} must be a string`);
    const length = [...value].length;
    const { min = 0, max = Number.POSITIVE_INFINITY } = bounds;
    if (length >= min && length <= max) return value;
    throw new MemberFault(
      min === max ? `${name} must have ${min} characters` : `${name} must have ${min} to ${max} characters`,
    );
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

/** The value of a required member. */
export function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new MemberFault(`${name} is missing`);
  return value;
}
