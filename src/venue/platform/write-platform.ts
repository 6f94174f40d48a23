import type { Metrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Secret } from '../../runtime/secret.ts';
import { reasonOf } from '../platform-error.ts';
import type { TokenSource } from '../tokens.ts';
import { notSent, type WriteLines, type WriteOptions, type WriteRequest, type WriteResult } from '../write-result.ts';
import { judgeWrite, type WriteReading } from './judge-write.ts';

export interface WriteDeps {
  readonly lines: WriteLines;
  readonly clock: Clock;
  readonly tokens: TokenSource;
  readonly metrics: Metrics['platform'];
}

/** Names for the platform's writes: a metric label. */
export type WriteName =
  | 'place_order'
  | 'cancel_order'
  | 'place_prediction_order'
  | 'replace_prediction_order'
  | 'cancel_prediction_order';

/**
 * One write to the platform: at most one request, on its own connection. Never rejects and repeats
 * nothing, not on 401 either: then the token is renewed and the caller decides about another
 * attempt.
 */
export async function writePlatform(
  { tokens, lines, clock, metrics }: WriteDeps,
  operation: WriteName,
  request: Omit<WriteRequest, 'headers'>,
  reading: WriteReading,
  { mayWrite, mayStillWrite, signal }: WriteOptions,
): Promise<WriteResult> {
  const credential = await tokens.get(request.url);
  if (!credential.ok) {
    const { retryable, retryAfterMs } = credential.error;
    const reason = reasonOf(credential.error);
    return { kind: 'not_sent', reason, mayRepeat: retryable, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  const { generation, secret } = credential.token;
  const opened = await lines.open(request.url, signal);
  if (!opened.open)
    return judgeWrite({ kind: 'failed', code: 'connect', message: opened.message, sent: 'no' }, reading);
  const { line } = opened;
  const refusal = await refusalOf(mayWrite);
  const headers = {
    accept: 'application/json',
    authorization: new Secret(`Bearer ${secret.reveal()}`),
    ...(request.body !== undefined && { 'content-type': 'application/json' }),
  };
  const startedMs = clock.monotonicMs();
  if (refusal !== undefined || !mayStillWrite()) {
    line.close();
    return notSent('NOT_PERMITTED', refusal ?? givenUp);
  }
  const observed = await line.send({ ...request, headers }, signal);
  const codeClass = observed.kind === 'answered' ? `${Math.floor(observed.status / 100)}xx` : 'none';
  metrics.requestSeconds.observe({ operation, code_class: codeClass }, (clock.monotonicMs() - startedMs) / 1000);
  const result = judgeWrite(observed, reading);
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
