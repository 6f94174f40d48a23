import type { z } from 'zod';
import { Secret } from '../../runtime/secret.ts';
import { queryText } from '../order-address.ts';
import { answeredError, badAnswer, type PlatformError } from '../platform-error.ts';
import { type Dialect, type ReadDeps, type ReadResult, readVenue, type VenueRead } from '../read-venue.ts';
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

export const platformDialect: Dialect = {
  sign: bearer,
  errorOf: errorFromAnswer,
};

export function bearer(credential: Secret) {
  return { authorization: new Secret(`Bearer ${credential.reveal()}`) };
}

/** As in `VenueRead`. */
type ReadSpecials = Omit<VenueRead, 'operation' | 'url'>;

/** A GET at the platform: `readVenue`. */
function readPlatform(
  deps: ReadDeps,
  operation: string,
  url: string,
  signal: AbortSignal,
  specials: ReadSpecials = {},
): Promise<ReadResult> {
  return readVenue(deps, platformDialect, { ...specials, operation, url }, signal);
}

export type Fetched<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: PlatformError };

/** One read's parts. `query` leaves out undefined values. */
interface ShapedRead<Shape extends z.ZodType> extends ReadSpecials {
  /** A metric label. */
  readonly operation: string;
  /** Base address and path. */
  readonly url: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly shape: Shape;
}

/** A read whose answer has to have a shape. `BAD_ANSWER` when it has another; never rejects. */
export async function readShape<Shape extends z.ZodType>(
  deps: ReadDeps,
  read: ShapedRead<Shape>,
  signal: AbortSignal,
): Promise<Fetched<z.output<Shape>>> {
  const answer = await readPlatform(deps, read.operation, `${read.url}${queryText(read.query ?? {})}`, signal, read);
  if (!answer.ok) return answer;
  const body = read.shape.safeParse(answer.value);
  if (body.success) return { ok: true, value: body.data };
  const [issue] = body.error.issues;
  const fault = `${issue?.path.join('.')}: ${issue?.message}`;
  return { ok: false, error: badAnswer(`the answer to ${read.operation} has another shape: ${fault}`) };
}

/**
 * An answer that itself says it is none: `status` or `s` is another word than success
 * (specification, "Options quote response").
 */
export function unsuccessful(operation: string, word: string): { readonly ok: false; readonly error: PlatformError } {
  return { ok: false, error: badAnswer(`the answer to ${operation} has the status ${word}`) };
}
