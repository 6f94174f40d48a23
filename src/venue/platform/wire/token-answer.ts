import { z } from 'zod';
import { neededText, optionalField, optionalText } from './optional-field.ts';

const answer = z.object({
  access_token: optionalField(z.string()),
  token_type: optionalField(z.string()),
  // A text of seconds counts; a lifetime that is none is left out, and assumed.
  expires_in: optionalField(z.coerce.number().positive().finite()),
  refresh_token: optionalText,
  scope: optionalText,
  error: optionalField(neededText),
  error_description: optionalText,
});

/**
 * The body of a token endpoint's answer with what we need of it, for a reader that knows RFC 6749
 * to the letter: of the rest, nothing decides. Undefined: no JSON object.
 *
 * A token whose type is left out is `Bearer`, the only one that we can send; a
 * token that says it is another must not be used (RFC 6749, section 7.1). An id
 * token that a server adds is not ours to check.
 */
export function tokenAnswer(text: string): Readonly<Record<string, unknown>> | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  const read = answer.safeParse(body).data;
  if (read === undefined) return undefined;
  return read.access_token === undefined ? read : { ...read, token_type: read.token_type ?? 'bearer' };
}
