import { z } from 'zod';
import type { CommandRequest, Reason } from '../domain/command.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Clock } from '../runtime/clock.ts';
import { codeClassOf, type HttpResult } from './http.ts';
import { answeredOrder, judgeAnswer, type WholeAnswer, type WriteJudge } from './judge-write.ts';
import { addressFault } from './order-address.ts';
import { reasonOf } from './platform-error.ts';
import type { Dialect } from './read-venue.ts';
import type { Purpose } from './request-budget.ts';
import type { Fields } from './row-reader.ts';
import type { TokenSource } from './tokens.ts';
import {
  notSent,
  type WriteAnswer,
  type WriteLines,
  type WriteOptions,
  type WriteRequest,
  type WriteResult,
} from './write-result.ts';

export interface WriteDeps {
  readonly lines: WriteLines;
  readonly clock: Clock;
  readonly tokens: TokenSource;
  readonly metrics: Metrics['platform'];
}

/** One write. `judge`: its result, by what was observed of it; pure. */
interface VenueWrite extends Omit<WriteRequest, 'headers'> {
  /** A metric label. */
  readonly operation: string;
  /** Left out: a place. */
  readonly purpose?: Purpose;
  readonly judge: (observed: HttpResult) => WriteResult;
}

/** A command's write. `body`: as its shape has read it; a fault of it is why nothing is sent. */
interface PreparedWrite extends Pick<WriteRequest, 'method'> {
  readonly path: string;
  readonly body?: z.ZodSafeParseResult<Fields>;
}

/** A venue's writes, one for each command. Pure. */
interface WriteTable {
  readonly dialect: Dialect;
  /** `id`: the order's, as it stands in an address; empty for a place. Or why there is no write. */
  prepare(request: CommandRequest, attemptId: string, id: string): PreparedWrite | WriteResult;
  /** An order's fields with its id and our reference, and those to keep as evidence. */
  readonly names: { readonly orderId: string; readonly reference: string; readonly evidence: readonly string[] };
  /** As in `WriteJudge`. Undefined, or left out: a success has the order, by `names`. */
  success?(answer: WholeAnswer, request: CommandRequest): WriteAnswer | string | undefined;
  /** As in `WriteJudge`. Left out: that of a failed read. */
  readonly reason?: WriteJudge['reason'];
  /** As in `WriteJudge`. */
  documented(answer: WholeAnswer, reason: Reason, request: CommandRequest): WriteResult | undefined;
}

/** Sends a command's write to the base of an address, and judges its answer. */
export function orderWrites({ dialect, prepare: preparedOf, names, success, documented, ...table }: WriteTable) {
  const reason = table.reason ?? (({ status, body }: WholeAnswer) => reasonOf(dialect.errorOf(status, body, 0)));
  const prepare = (request: CommandRequest, attemptId: string) => {
    const orderId = request.kind === 'place' ? undefined : request.orderId;
    const fault = orderId === undefined ? undefined : addressFault(orderId);
    if (fault !== undefined) return notSent(fault.code, fault.message);
    const prepared = preparedOf(request, attemptId, encodeURIComponent(orderId ?? ''));
    if ('kind' in prepared) return prepared;
    const { body, ...call } = prepared;
    if (body?.success === false) return notSent('INVALID_REQUEST', z.prettifyError(body.error));
    return { ...call, ...(body && { body: JSON.stringify(body.data) }) };
  };
  const judge = (request: CommandRequest, attemptId: string, observed: HttpResult): WriteResult => {
    const prepared = prepare(request, attemptId);
    if ('kind' in prepared) return prepared;
    return judgeAnswer(observed, {
      success: (answer) => success?.(answer, request) ?? answeredOrder(answer.body, request, attemptId, names),
      reason,
      documented: (answer, why) => documented(answer, why, request),
    });
  };
  const write = async (
    deps: WriteDeps,
    { url }: { readonly url: string },
    request: CommandRequest,
    attemptId: string,
    options: WriteOptions,
  ): Promise<WriteResult> => {
    const prepared = prepare(request, attemptId);
    if ('kind' in prepared) return prepared;
    const { path, ...call } = prepared;
    const { kind } = request;
    const about = { operation: `${kind}_order`, purpose: kind === 'cancel' ? 'cancel' : 'place' } as const;
    const judged = (observed: HttpResult) => judge(request, attemptId, observed);
    return writeVenue(deps, dialect.sign, { ...call, ...about, url: `${url}${path}`, judge: judged }, options);
  };
  return { prepare, judge, write };
}

/**
 * One write to a venue: at most one request, on its own connection. Never rejects and repeats
 * nothing, not on 401 either: then the token is renewed and the caller decides about another
 * attempt.
 */
export async function writeVenue(
  { tokens, lines, clock, metrics }: WriteDeps,
  sign: Dialect['sign'],
  { operation, purpose = 'place', judge, ...request }: VenueWrite,
  { mayWrite, mayStillWrite, signal }: WriteOptions,
): Promise<WriteResult> {
  const credential = await tokens.get(request.url);
  if (!credential.ok) {
    const { retryable, retryAfterMs } = credential.error;
    const reason = reasonOf(credential.error);
    return { kind: 'not_sent', reason, mayRepeat: retryable, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  const held = tokens.requests?.take(purpose);
  if (held !== undefined) {
    const reason = { code: 'REQUESTS_USED_UP', message: held.message };
    return { kind: 'not_sent', reason, mayRepeat: true, retryAfterMs: held.waitMs };
  }
  const { generation, secret } = credential.token;
  const opened = await lines.open(request.url, signal);
  if (!opened.open) {
    tokens.requests?.unsent();
    return judge({ kind: 'failed', code: 'connect', message: opened.message, sent: 'no' });
  }
  const { line } = opened;
  const refusal = await refusalOf(mayWrite);
  const headers = {
    accept: 'application/json',
    ...sign(secret, { ...request, atMs: clock.nowMs() }),
    ...(request.body !== undefined && { 'content-type': 'application/json' }),
  };
  const startedMs = clock.monotonicMs();
  if (refusal !== undefined || !mayStillWrite()) {
    line.close();
    tokens.requests?.unsent();
    return notSent('NOT_PERMITTED', refusal ?? givenUp);
  }
  const observed = await line.send({ ...request, headers }, signal);
  tokens.requests?.saw(observed);
  metrics.requestSeconds.observe(
    { operation, code_class: codeClassOf(observed) },
    (clock.monotonicMs() - startedMs) / 1000,
  );
  const result = judge(observed);
  if (result.kind !== 'refused' || result.reason.status !== 401) return result;
  // At once when the used token is not the current one any more; otherwise by the one renewal all
  // callers share.
  const next = await tokens.renew(generation, request.url);
  return next.ok && next.token.generation !== generation ? { ...result, staleToken: true } : result;
}

const givenUp = 'given up before it was written';

/**
 * Why the caller does not permit the write. Its refusal, or its failure, must not look like a
 * failed connection, which may be tried again.
 */
async function refusalOf(mayWrite: WriteOptions['mayWrite']): Promise<string | undefined> {
  try {
    return (await mayWrite()) ? undefined : givenUp;
  } catch (error) {
    return `${givenUp}: ${error instanceof Error ? error.message : String(error)}`;
  }
}
