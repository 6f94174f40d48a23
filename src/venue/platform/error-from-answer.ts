import { answeredError, type PlatformError } from '../platform-error.ts';
import { flatError, nestedError, rejection } from './wire/error-bodies.ts';

/**
 * A flat body's word if it is a code, as OAuth2's are (`invalid_grant`). Any other text is for
 * people, "not fixed and must not be relied on".
 */
const flatCode = /^[a-z_]{1,40}$/;

/**
 * An answer with a status other than success, as an error. `body` is the parsed body, or undefined
 * if it was empty or not JSON. `retryAfterMs`: the answer's, 0 if it has none.
 */
export function errorFromAnswer(status: number, body: unknown, retryAfterMs = 0): PlatformError {
  const nested = nestedError.safeParse(body);
  const flat = nested.success ? undefined : flatError.safeParse(body).data;
  const rejected = nested.success || flat !== undefined ? undefined : rejection.safeParse(body).data;
  const word = flat?.error !== undefined && flatCode.test(flat.error) ? flat.error : undefined;
  const code = nested.data?.error.code ?? flat?.codes?.[0]?.code ?? word ?? rejected?.ordRejReason;
  const type = nested.data?.error.type;
  const told = nested.data?.error.message ?? flat?.codes?.[0]?.description ?? flat?.error ?? rejected?.text;
  const message = told ?? `the platform answered with status ${status}`;
  return answeredError(status, { code, type, message }, retryAfterMs);
}
