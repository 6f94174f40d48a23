/** The tag of an order: its revision. Strong: equal tags mean equal bytes. */
export function tagOf(revision: number): string {
  return `"${revision}"`;
}

/** `If-None-Match` (RFC 9110 13.1.2): true when the caller already has `tag`, by weak comparison. */
export function alreadyHas(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === tag);
}

export type IfMatch =
  | { readonly kind: 'none' }
  | { readonly kind: 'revision'; readonly revision: number }
  | { readonly kind: 'unreadable' };

/** `If-Match` on a replace or cancel: one strong tag, or `*`, which any order that exists fulfils. More than one would leave open which state the caller decided on. */
export function readIfMatch(header: string | undefined): IfMatch {
  const text = header?.trim();
  if (text === undefined || text === '*') return { kind: 'none' };
  const digits = /^"([1-9]\d{0,14})"$/.exec(text)?.[1];
  return digits === undefined ? { kind: 'unreadable' } : { kind: 'revision', revision: Number(digits) };
}
