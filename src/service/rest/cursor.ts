import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';

/** Two ids of 128 characters of three bytes each fit. */
export const longestCursor = 1_200;

/**
 * A position in a list, in the callers' form: base64url of JSON. It has a check sum over the list
 * and its filters, since with others it would silently skip rows. It is not secret and grants
 * nothing: each page is limited to the caller's own accounts again. So it is not signed, and is
 * checked like all input from callers.
 */
export function encodeCursor(list: string, position: readonly string[]): string {
  return Buffer.from(JSON.stringify([checkSum(list, position), ...position])).toString('base64url');
}

/**
 * Undefined: it is damaged, or it belongs to another list or other filters. `shape`: this list's
 * positions.
 */
export function decodeCursor(
  list: string,
  cursor: string,
  shape: z.ZodType<readonly string[]>,
): readonly string[] | undefined {
  if (cursor.length > longestCursor) return undefined;
  const content = jsonOrUndefined(Buffer.from(cursor, 'base64url').toString());
  const position = shape.safeParse(Array.isArray(content) ? content.slice(1) : undefined);
  // Base64url and JSON have several texts for one content: only ours is a cursor.
  return position.success && encodeCursor(list, position.data) === cursor ? position.data : undefined;
}

function checkSum(list: string, position: readonly string[]): string {
  const sum = createHash('sha256').update(JSON.stringify([list, ...position]));
  return sum.digest('base64url').slice(0, 16);
}
