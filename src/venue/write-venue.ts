import type { CommandRequest } from '../domain/command.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Clock } from '../runtime/clock.ts';
import { codeClassOf, type HttpResult } from './http.ts';
import { judgeAnswer, type WriteJudge } from './judge-write.ts';
import { reasonOf } from './platform-error.ts';
import type { Dialect } from './read-venue.ts';
import type { Purpose } from './request-budget.ts';
import type { TokenSource } from './tokens.ts';
import { notSent, type WriteLines, type WriteOptions, type WriteRequest, type WriteResult } from './write-result.ts';

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

/** A venue's writes, one for each command. Pure. */
interface WriteTable {
  readonly sign: Dialect['sign'];
  /** The command's write; or why there is none. */
  prepare(
    request: CommandRequest,
    attemptId: string,
  ): (Pick<WriteRequest, 'method' | 'body'> & { readonly path: string }) | WriteResult;
  judge(request: CommandRequest, attemptId: string): WriteJudge;
}

/** Sends a command's write to the base of an address, and judges its answer. */
export function orderWrites({ sign, prepare, judge: judgeOf }: WriteTable) {
  const judge = (request: CommandRequest, attemptId: string, observed: HttpResult): WriteResult => {
    const prepared = prepare(request, attemptId);
    return 'kind' in prepared ? prepared : judgeAnswer(observed, judgeOf(request, attemptId));
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
    return writeVenue(deps, sign, { ...call, ...about, url: `${url}${path}`, judge: judged }, options);
  };
  return { judge, write };
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
