import type { Reason } from '../../domain/command.ts';
import type { HttpResult } from '../http.ts';
import { judgeAnswer, type WholeAnswer, withStatus } from '../judge-write.ts';
import { reasonOf, retryAfterMsOf } from '../platform-error.ts';
import type { WriteAnswer, WriteResult } from '../write-result.ts';
import { errorFromAnswer } from './read-platform.ts';
import { flatError, nestedError, rejection } from './wire/error-bodies.ts';

/** How one endpoint's answers are read. */
export interface WriteReading {
  /** Statuses beside 401 and 403 with a documented body (or none) that says nothing was done. */
  readonly refusals: ReadonlySet<number>;
  /** Whether 429 and 503 with the prediction codes promise that nothing was sent. */
  readonly promisesNotSent: boolean;
  /** The content of an answer with the right shape and about our order; else why not. */
  readonly read: (value: unknown) => WriteAnswer | string;
}

const notSentCodes: Readonly<Record<number, string>> = {
  429: 'ORDER_ENTRY_AT_CAPACITY',
  503: 'ORDER_ENTRY_UNAVAILABLE',
};

/** The table "observed → result" for one HTTP result. Pure. */
export function judgeWrite(observed: HttpResult, reading: WriteReading): WriteResult {
  return judgeAnswer(observed, {
    success: ({ body }) => (body === undefined ? 'the answer is not JSON' : reading.read(body)),
    reason: ({ status, body }) => reasonOf(errorFromAnswer(status, body)),
    documented: (answer, reason) => documentedResult(answer, reason, reading),
  });
}

function documentedResult(answer: WholeAnswer, reason: Reason, reading: WriteReading): WriteResult | undefined {
  const { status, text, body } = answer;
  // No status is specified for the response that says that the order was rejected.
  const response = body !== undefined && (status === 400 || status === 422) ? reading.read(body) : 'none';
  if (typeof response !== 'string' && response.kind === 'rejected') return withStatus(response, status);
  if (reading.refusals.has(status) && (text === '' || isDocumented(body)) && !isOtherConflict(status, body, reading))
    return { kind: 'refused', reason };
  if (!reading.promisesNotSent || notSentCodes[status] === undefined || codeOf(body) !== notSentCodes[status])
    return undefined;
  const retryAfterMs = retryAfterMsOf(answer);
  return { kind: 'not_sent', reason, mayRepeat: true, ...(retryAfterMs > 0 && { retryAfterMs }) };
}

/**
 * One of the three general shapes (specification, "General error bodies"), or an order response
 * that names no order. A proxy's page is not.
 */
function isDocumented(body: unknown): boolean {
  return [nestedError, flatError, rejection].some((shape) => shape.safeParse(body).success);
}

/**
 * A 409 from a prediction endpoint with another code than the documented one. "Duplicate" is the
 * classic: the order it names may be our own, the only one there is, and that shows later.
 */
function isOtherConflict(
  status: number,
  body: unknown,
  { promisesNotSent }: Pick<WriteReading, 'promisesNotSent'>,
): boolean {
  return status === 409 && promisesNotSent && body !== undefined && codeOf(body) !== 'ORDER_NOT_ACTIONABLE';
}

/** A nested body's code. A flat body with the same word is not the platform's order entry. */
function codeOf(body: unknown): string | undefined {
  return nestedError.safeParse(body).data?.error.code;
}
