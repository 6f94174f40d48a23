import type { HttpOutcome } from './http.ts';
import { parseJson } from './parse-json.ts';
import { errorFromAnswer, type PlatformError, retryAfterMsOf } from './platform-error.ts';
import { flatError, nestedError } from './wire/error-bodies.ts';
import type { WriteResult } from './write-result.ts';

/** How the answers of one endpoint are read. */
export interface WriteReading<T> {
  /** Statuses beside 401 and 403 whose documented body (or none) says that nothing was done. */
  readonly refusals: ReadonlySet<number>;
  /** Whether 429 and 503 with the prediction codes promise that nothing was sent. */
  readonly promisesNotSent: boolean;
  /** The content of a 200 or 202 that has the right shape and is about our order; else why not. */
  readonly read: (value: unknown) => { readonly verdict: 'accepted' | 'rejected'; readonly answer: T } | string;
}

const notSentCodes: Readonly<Record<number, string>> = { 429: 'ORDER_ENTRY_AT_CAPACITY', 503: 'ORDER_ENTRY_UNAVAILABLE' };

/** The table "observed → outcome" for one HTTP outcome. Pure. */
export function judgeWrite<T>(outcome: HttpOutcome, reading: WriteReading<T>): WriteResult<T> {
  if (outcome.kind === 'failed') {
    const { message, sent } = outcome;
    const verdict = sent === 'no' ? 'not_sent' : 'unknown';
    return { kind: 'failed', verdict, error: { code: 'NO_ANSWER', message, retryable: verdict === 'not_sent', sent } };
  }
  const { status, text } = outcome;
  const body = parsed(text);
  if (status === 200 || status === 202) {
    const read = body === undefined ? 'the answer is not JSON' : reading.read(body);
    if (typeof read !== 'string') return { kind: 'answered', ...read };
    return failedAs('unknown', { status, code: 'BAD_ANSWER', message: read, retryable: false, sent: 'yes' });
  }
  const error = errorFromAnswer(status, body);
  const retryAfterMs = retryAfterMsOf(outcome);
  if (status === 401 || status === 403) return failedAs('refused', error);
  if (reading.refusals.has(status) && (text === '' || isDocumented(body)) && !isOtherConflict(status, body, reading))
    return failedAs('refused', error);
  if (reading.promisesNotSent && notSentCodes[status] !== undefined && codeOf(body) === notSentCodes[status])
    return failedAs('not_sent', { ...error, ...(retryAfterMs > 0 && { retryAfterMs }) });
  return failedAs('unknown', error);
}

function failedAs(verdict: 'refused' | 'not_sent' | 'unknown', error: PlatformError): WriteResult<never> {
  return { kind: 'failed', verdict, error: { ...error, retryable: verdict === 'not_sent' } };
}

/** One of the three general shapes (specification, "General error bodies"). A page of a proxy is not. */
function isDocumented(body: unknown): boolean {
  return nestedError.safeParse(body).success || flatError.safeParse(body).success;
}

/**
 * A 409 of the prediction endpoints whose code is not the documented one. "Duplicate" is the classic: said of the only order there is, which shows later.
 */
function isOtherConflict(
  status: number,
  body: unknown,
  { promisesNotSent }: Pick<WriteReading<unknown>, 'promisesNotSent'>,
): boolean {
  return status === 409 && promisesNotSent && body !== undefined && codeOf(body) !== 'ORDER_NOT_ACTIONABLE';
}

/** The code of a nested body: a flat one with the same word is not the platform's order entry. */
function codeOf(body: unknown): string | undefined {
  return nestedError.safeParse(body).data?.error.code;
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
