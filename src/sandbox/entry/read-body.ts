import { isUtf8 } from 'node:buffer';
import { mediaTypeOf } from '../media-type.ts';

export type BodyFault = 'EMPTY_BODY' | 'INVALID_JSON' | 'INVALID_ORDER';

/**
 * The members of a JSON object, or what is wrong with the bytes (specification, "Prediction order errors"; contract: `[]` and `null` are `INVALID_ORDER`).
 * Assumption: a body that does not call itself `application/json` is `INVALID_JSON`.
 */
export type BodyResult =
  | { readonly members: Readonly<Record<string, unknown>> }
  | { readonly fault: BodyFault; readonly message: string };

export function readBody(body: unknown, contentType: string | undefined): BodyResult {
  if (!Buffer.isBuffer(body) || body.length === 0) return { fault: 'EMPTY_BODY', message: 'The body is missing' };
  if (!isUtf8(body)) return { fault: 'INVALID_JSON', message: 'The body is not UTF-8' };
  const text = body.toString('utf8');
  if (text.trim() === '') return { fault: 'EMPTY_BODY', message: 'The body is missing' };
  if (mediaTypeOf(contentType) !== 'application/json')
    return { fault: 'INVALID_JSON', message: 'The content type is not application/json' };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: 'INVALID_JSON', message: 'The body is not JSON' };
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { members: value as Record<string, unknown> };
  return { fault: 'INVALID_ORDER', message: 'The body must be a JSON object' };
}
