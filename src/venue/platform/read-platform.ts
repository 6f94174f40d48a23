import type { z } from 'zod';
import { Secret } from '../../runtime/secret.ts';
import { queryText } from '../order-address.ts';
import type { PlatformError } from '../platform-error.ts';
import { type Dialect, type ReadDeps, type ReadResult, readVenue, type VenueRead } from '../read-venue.ts';
import { errorFromAnswer } from './error-from-answer.ts';

export const platformDialect: Dialect = {
  sign: (credential) => ({ authorization: new Secret(`Bearer ${credential.reveal()}`) }),
  errorOf: errorFromAnswer,
};

/** As in `VenueRead`. */
type ReadSpecials = Omit<VenueRead, 'operation' | 'url'>;

/** A GET at the platform: `readVenue`. */
export function readPlatform(
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
  return badAnswer(`the answer to ${read.operation} has another shape: ${issue?.path.join('.')}: ${issue?.message}`);
}

/**
 * An answer that itself says it is none: `status` or `s` is another word than success
 * (specification, "Options quote response").
 */
export function unsuccessful(operation: string, word: string): { readonly ok: false; readonly error: PlatformError } {
  return badAnswer(`the answer to ${operation} has the status ${word}`);
}

function badAnswer(message: string): { readonly ok: false; readonly error: PlatformError } {
  return {
    ok: false,
    error: { status: 200, code: 'BAD_ANSWER', message: message.slice(0, 500), retryable: true, sent: 'yes' },
  };
}
