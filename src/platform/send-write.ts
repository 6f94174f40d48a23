import { Secret } from '../runtime/secret.ts';
import type { HttpOutcome } from './http.ts';
import { parseJson } from './parse-json.ts';
import { errorFromAnswer } from './platform-error.ts';
import type { ReadDeps } from './read-platform.ts';
import type { Fetched } from './read-shape.ts';

/** One write that isn't an order. */
export interface Write {
  /** A metric label. */
  readonly operation: string;
  readonly method: 'POST' | 'DELETE';
  readonly url: string;
  readonly body: unknown;
}

export type WriteDeps = Pick<ReadDeps, 'http' | 'clock' | 'tokens' | 'metrics'>;

/**
 * One request, with any result: a write may have taken effect although its answer was lost or bad, so only the caller can know whether to send it
 * again. A 401 renews the token for the next request. `value` is the parsed body of a 2xx, undefined when it was empty. Never rejects.
 */
export async function sendWrite(deps: WriteDeps, write: Write, signal: AbortSignal): Promise<Fetched<unknown>> {
  const credential = await deps.tokens.get();
  if (!credential.ok) return credential;
  const { operation, method, url } = write;
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    authorization: new Secret(`Bearer ${credential.token.secret.reveal()}`),
  };
  const startedMs = deps.clock.monotonicMs();
  const outcome = await deps.http.request({ operation, method, url, headers, body: JSON.stringify(write.body), signal });
  const codeClass = outcome.kind === 'answered' ? `${Math.floor(outcome.status / 100)}xx` : 'none';
  deps.metrics.requestSeconds.observe({ operation, code_class: codeClass }, (deps.clock.monotonicMs() - startedMs) / 1000);
  if (outcome.kind === 'answered' && outcome.status === 401) void deps.tokens.renew(credential.token.generation);
  return toResult(outcome);
}

function toResult(outcome: HttpOutcome): Fetched<unknown> {
  if (outcome.kind === 'failed')
    return { ok: false, error: { code: 'NO_ANSWER', message: outcome.message, retryable: true, sent: outcome.sent } };
  const body = parsed(outcome.text);
  if (outcome.status < 200 || outcome.status > 299) return { ok: false, error: errorFromAnswer(outcome.status, body.value) };
  if (body.readable) return { ok: true, value: body.value };
  const message = 'the answer is not JSON';
  return { ok: false, error: { status: outcome.status, code: 'BAD_ANSWER', message, retryable: false, sent: 'yes' } };
}

function parsed(text: string): { readonly readable: boolean; readonly value: unknown } {
  if (text === '') return { readable: true, value: undefined };
  try {
    return { readable: true, value: parseJson(text) };
  } catch {
    return { readable: false, value: undefined };
  }
}
