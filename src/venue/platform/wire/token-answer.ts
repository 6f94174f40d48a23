import { z } from 'zod';
import { jsonOrUndefined } from '../../../runtime/json-or-undefined.ts';
import { neededText, optionalField, optionalText } from './optional-field.ts';

/** Ten years. What lasts longer may end at a time that the database cannot store. */
const longestSeconds = 315_360_000;

const answer = z.object({
  access_token: optionalField(z.string()),
  token_type: optionalField(z.string()),
  // A text with seconds counts. A lifetime that is none is left out, and assumed. Below a second it
  // is none: the streams would be opened anew ten times a second.
  expires_in: optionalField(
    z.coerce
      .number()
      .min(1)
      .finite()
      .transform((seconds) => Math.min(seconds, longestSeconds)),
  ),
  refresh_token: optionalText,
  scope: optionalText,
  error: optionalField(neededText),
  error_description: optionalText,
});

/**
 * A token endpoint's answer with only the parts we need, for a reader that follows RFC 6749 to the
 * letter: nothing else in it decides. Undefined: no JSON object.
 *
 * A token without a type is `Bearer`, the only one we can send. A token that says it is another
 * must not be used (RFC 6749, section 7.1). A server may add an id token; checking it is not our
 * task.
 */
export function tokenAnswer(text: string): Readonly<Record<string, unknown>> | undefined {
  const read = answer.safeParse(jsonOrUndefined(text)).data;
  if (read === undefined) return undefined;
  return read.access_token === undefined ? read : { ...read, token_type: read.token_type ?? 'bearer' };
}
