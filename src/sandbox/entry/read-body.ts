import { isUtf8 } from 'node:buffer';

export type BodyFault = 'EMPTY_BODY' | 'INVALID_JSON' | 'INVALID_ORDER';

/** The members of a JSON object, or what is wrong with the bytes (specification, "Prediction order errors"; contract: `[]` and `null` are `INVALID_ORDER`). */
export type BodyResult =
  | { readonly members: Readonly<Record<string, unknown>> }
  | { readonly fault: BodyFault; readonly message: string };

export function readBody(body: unknown): BodyResult {
  if (!Buffer.isBuffer(body) || body.length === 0) return { fault: 'EMPTY_BODY', message: 'The body is missing' };
  if (!isUtf8(body)) return { fault: 'INVALID_JSON', message: 'The body is not UTF-8' };
  const text = body.toString('utf8');
  if (text.trim() === '') return { fault: 'EMPTY_BODY', message: 'The body is missing' };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: 'INVALID_JSON', message: 'The body is not JSON' };
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { members: value as Record<string, unknown> };
  return { fault: 'INVALID_ORDER', message: 'The body must be a JSON object' };
}
