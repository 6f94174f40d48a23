import type { Stream } from './order.ts';
import { traits } from './streams.ts';

/**
 * Ids that need no further look: no server on the way reads any of these characters as a part of an
 * address. Nearly all ids are such.
 */
const plainId = /^[!"$&-\-0-:<->@-[\]-~]{1,128}$/;

/**
 * The grammar of an id of the platform, for an order or an account: 1 to 128 characters, blanks
 * within it too. Not control characters, line separators, a lone surrogate or its replacement (two
 * ids would become one), nor blanks at the ends: these get lost on the way through logs, addresses
 * and tables.
 */
export const platformId =
  /^[^\s\p{Cc}\p{Cs}\ufffd](?:[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\ufffd]{0,126}[^\s\p{Cc}\p{Cs}\ufffd])?$/u;

/** The grammar in words. */
export const idWords =
  '1 to 128 characters, without control characters, blanks at the ends, or marks of what could not be read';

/** Whether the platform may show such an id, and we follow it. */
export function isPlatformId(text: string): boolean {
  return plainId.test(text) || platformId.test(text);
}

/** Whether some characters need a further look (`isAddressable`). */
export function isOddId(text: string): boolean {
  return !plainId.test(text);
}

/** A server may split a path at these, as they are or after decoding. */
const separators = /[/\\?#;\p{Cc}]/u;
const escaped = /%([0-7][0-9a-f])/gi;

/**
 * Whether a platform address may have the id in its path, percent-encoded. Not if a server on the
 * way that decodes the path, once or more often, then finds a dot segment in it (`..%2F`, `a/../b`,
 * `..;x`), or no name at all: such a path leads to something else than this order. Compatible forms
 * of the dot count as dots.
 */
export function isAddressable(id: string): boolean {
  if (plainId.test(id)) return true;
  let decoded = id.normalize('NFKC');
  for (let before = ''; before !== decoded; ) {
    const segments = decoded.split(separators);
    if (segments.includes('.') || segments.includes('..') || segments.every((segment) => segment === '')) return false;
    before = decoded;
    decoded = decoded.replace(escaped, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  return true;
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Visible ASCII, except what a server may read as a part of an address: `/ \\ % ? #`. */
const modestId = /^[!"$&-.0->@-[\]-~]{1,128}$/;

/**
 * Whether the platform may be asked for an order that it has never shown us, by an id as its caller
 * wrote it. Prediction orders have a UUID (specification, "Prediction order"); the form of others
 * is not specified. Narrower than `isAddressable`: a caller may name what it likes, and escaping
 * protects nothing if a gateway unescapes the path before it looks at it.
 */
export function isAskableId(stream: Stream, id: string): boolean {
  return traits[stream].orderId === 'uuid' ? uuid.test(id) : modestId.test(id) && isAddressable(id);
}
