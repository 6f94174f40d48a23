import type { FastifyRequest } from 'fastify';
import type { ProblemCode } from './problem-codes.ts';

type ReadBodyResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: ProblemCode; readonly detail?: string };

/**
 * A body's bytes as its route takes them. Clients send a content type with every request, so
 * without a body it means nothing. A route without a body refuses one: a caller with terms in it
 * would believe that they were read.
 */
export function readBody(request: FastifyRequest, takesBody: boolean): ReadBodyResult {
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (!takesBody) {
    if (bytes.length === 0) return { ok: true, value: undefined };
    return { ok: false, code: 'UNEXPECTED_BODY' };
  }
  if (bytes.length > 0 && request.mediaType !== 'application/json') return { ok: false, code: 'MEDIA_TYPE' };
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8')
    return { ok: false, code: 'MEDIA_TYPE', detail: 'JSON is read in UTF-8 only' };
  return parseJsonBody(bytes);
}

/** Far deeper than any body of ours; a parser that recurses must not go further. */
const deepest = 16;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * A JSON body with one reading only: UTF-8 without a byte order mark, no key twice in one object
 * (the platform and we might take different ones), no `__proto__`, no lone surrogate, no NUL, at
 * most 16 levels. Valid JSON with another shape is refused later, by the shapes. The size of
 * `bytes` was checked before.
 */
export function parseJsonBody(bytes: Uint8Array): ReadBodyResult {
  if (bytes.length === 0) return { ok: false, code: 'EMPTY_BODY' };
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(bytes);
    // V8's parser does not recurse: 32 KiB of brackets are a syntax error like any other.
    value = JSON.parse(text);
  } catch {
    return invalid('the body is not JSON in UTF-8');
  }
  const fault = ambiguity(text);
  return fault === undefined ? { ok: true, value } : invalid(fault);
}

function invalid(detail: string): ReadBodyResult {
  return { ok: false, code: 'INVALID_JSON', detail };
}

/** Walks over the tokens of a text known to be JSON. A string with a colon behind it is a key. */
function ambiguity(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '{' || char === '[') {
      if (open.push(char === '{' ? new Set() : undefined) > deepest) return 'the body is nested too deeply';
    } else if (char === '}' || char === ']') open.pop();
    else if (char === '"') {
      const end = stringEnd(text, at);
      const written = text.slice(at, end + 1);
      const string = written.includes('\\') ? String(JSON.parse(written)) : written.slice(1, -1);
      if (!string.isWellFormed() || string.includes('\0')) return 'a string of the body holds a lone surrogate or NUL';
      if (isKey(text, end)) {
        if (string === '__proto__') return 'the body has a key that is not accepted';
        const keys = open.at(-1);
        if (keys?.has(string)) return 'an object of the body has the same key twice';
        keys?.add(string);
      }
      at = end;
    }
  }
  return undefined;
}

/** Index of the closing quote, for the string that begins at `start`. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1;
  return at;
}

function isKey(text: string, end: number): boolean {
  let at = end + 1;
  while (' \t\n\r'.includes(text.charAt(at)) && at < text.length) at += 1;
  return text.charAt(at) === ':';
}
