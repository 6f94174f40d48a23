import type { Metrics } from '../observability/metrics.ts';
import type { Clock } from '../runtime/clock.ts';
import { Secret } from '../runtime/secret.ts';
import type { HttpOutcome } from './http.ts';
import { judgeWrite, type WriteReading } from './judge-write.ts';
import type { TokenSource } from './token-source.ts';
import type { WriteLine, WriteLines, WriteRequest, WriteResult } from './write-result.ts';

export interface WriteDeps {
  readonly lines: WriteLines;
  readonly clock: Clock;
  readonly tokens: TokenSource;
  readonly metrics: Metrics['platform'];
}

export interface WriteOptions {
  /**
   * Asked once a token is there and the connection stands, immediately before the one write: the place to record that it is about to happen. False: the
   * attempt is given up, and nothing was sent.
   */
  readonly mayWrite?: () => Promise<boolean>;
  /** Asked behind `mayWrite`, with nothing awaited between its answer and the write. False: the same. */
  readonly mayStillWrite?: () => boolean;
  readonly signal?: AbortSignal;
}

export type WriteOperation =
  | 'place_order'
  | 'cancel_order'
  | 'place_prediction_order'
  | 'replace_prediction_order'
  | 'cancel_prediction_order';

/**
 * One write to the platform: at most one request, on a connection of its own. Never rejects unless `mayWrite` does, and repeats nothing: not on 401
 * either, where the caller decides about another attempt.
 */
export async function writePlatform<T>(
  deps: WriteDeps,
  operation: WriteOperation,
  request: Omit<WriteRequest, 'headers'>,
  reading: WriteReading<T>,
  options: WriteOptions,
): Promise<WriteResult<T>> {
  const credential = await deps.tokens.get();
  if (!credential.ok) return { kind: 'failed', verdict: 'not_sent', error: { ...credential.error, sent: 'no' } };
  const { generation: tokenGeneration, secret } = credential.token;
  const opened = await deps.lines.open(request.url, options.signal);
  if (!opened.open) return judged({ kind: 'failed', code: 'connect', message: opened.message, sent: 'no' });
  if (!(await permitted(opened.line, options))) {
    return judged(givenUp);
  }
  const headers = {
    accept: 'application/json',
    authorization: new Secret(`Bearer ${secret.reveal()}`),
    ...(request.body !== undefined && { 'content-type': 'application/json' }),
  };
  const startedMs = deps.clock.monotonicMs();
  if (options.mayStillWrite?.() === false) {
    opened.line.close();
    return judged(givenUp);
  }
  const outcome = await opened.line.send({ ...request, headers }, options.signal);
  const codeClass = outcome.kind === 'answered' ? `${Math.floor(outcome.status / 100)}xx` : 'none';
  deps.metrics.requestSeconds.observe({ operation, code_class: codeClass }, (deps.clock.monotonicMs() - startedMs) / 1000);
  return judged(outcome);

  function judged(result: HttpOutcome): WriteResult<T> {
    const verdict = judgeWrite(result, reading);
    return verdict.kind === 'failed' ? { ...verdict, tokenGeneration } : verdict;
  }
}

const givenUp: HttpOutcome = { kind: 'failed', code: 'aborted', message: 'given up before it was written', sent: 'no' };

async function permitted(line: WriteLine, { mayWrite }: WriteOptions): Promise<boolean> {
  try {
    if (mayWrite === undefined || (await mayWrite())) return true;
  } catch (error) {
    line.close();
    throw error;
  }
  line.close();
  return false;
}

/** A request that breaks the specification's own rules is never sent. */
export function notSendable(message: string): WriteResult<never> {
  const error = { code: 'INVALID_REQUEST', message: message.slice(0, 500), retryable: false, sent: 'no' as const };
  return { kind: 'failed', verdict: 'not_sent', error };
}
