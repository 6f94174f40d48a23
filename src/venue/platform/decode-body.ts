import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import { type HttpResult, textOfBody } from '../http.ts';

type Decoder = (body: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

/** By content coding (RFC 9110, section 8.4.1; RFC 7932; RFC 8878). */
const decoders: Readonly<Record<string, Decoder>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: inflateAny,
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
};

/** Each layer is a whole body in memory. No server needs more. */
const mostCodings = 2;

type BodyText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly code: 'bad_coding' | 'bad_utf8' | 'too_large'; readonly message: string };

/**
 * The text of a whole body. Every request asks for no content coding; a proxy on the way may apply
 * one all the same, and then the codings that browsers read are read here. `codings`: the values of
 * `content-encoding`. `maxBytes` holds for the decoded body too: a few kilobytes may hold a
 * gigabyte.
 *
 * A body that can't be decoded but is UTF-8 is taken as it is: some proxies decode it and leave the
 * header.
 */
export async function decodeBody(
  body: Buffer,
  codings: string | readonly string[] | undefined,
  maxBytes: number,
): Promise<BodyText> {
  const names = namesOf(codings);
  if (names.length === 0 || body.length === 0) return textOf(body);
  if (names.length > mostCodings || names.some((name) => !Object.hasOwn(decoders, name))) return unread(body, names);
  let plain = body;
  try {
    for (const name of names.toReversed())
      plain = (await decoders[name]?.(plain, { maxOutputLength: maxBytes })) ?? plain;
  } catch (error) {
    if (error instanceof RangeError) return tooLarge(maxBytes);
    return unread(body, names);
  }
  return textOf(plain);
}

/** RFC 9110 means zlib's format; some servers send the bare one. */
async function inflateAny(body: Buffer, options: { readonly maxOutputLength: number }): Promise<Buffer> {
  try {
    return await promisify(inflate)(body, options);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    return promisify(inflateRaw)(body, options);
  }
}

function namesOf(codings: string | readonly string[] | undefined): string[] {
  if (codings === undefined) return [];
  return [codings]
    .flat()
    .join()
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
}

function textOf(body: Buffer): BodyText {
  const text = textOfBody(body);
  if (text === undefined) return { ok: false, code: 'bad_utf8', message: 'the answer is not UTF-8' };
  return { ok: true, text };
}

function unread(body: Buffer, names: readonly string[]): BodyText {
  if (isUtf8(body)) return textOf(body);
  const shown = names.join(', ').slice(0, 100);
  return { ok: false, code: 'bad_coding', message: `the answer can't be decoded: its content-encoding is ${shown}` };
}

function tooLarge(maxBytes: number): BodyText {
  return { ok: false, code: 'too_large', message: `the answer has more than ${maxBytes} bytes` };
}

/** A whole answer from its bytes. */
export async function answeredWith(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: Buffer,
  maxBytes: number,
): Promise<HttpResult> {
  const read = await decodeBody(body, headers['content-encoding'], maxBytes);
  // 401 and 403 say the same with any body, also with one that can't be read.
  if (!read.ok && status !== 401 && status !== 403) return failed(read.code, read.message, 'maybe');
  const firsts: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) firsts[name] = first;
  }
  return { kind: 'answered', status, headers: firsts, text: read.ok ? read.text : '' };
}

export function failed(code: string, message: string, sent: 'no' | 'maybe'): HttpResult {
  return { kind: 'failed', code, message, sent };
}
