import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { RunningService } from '../runs/service-under-test.ts';

export interface RestAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came, as a caller would
  readonly body: any;
}

interface CallOptions {
  readonly body?: object;
  readonly key?: string;
  /** Seconds of `Prefer: wait`. */
  readonly wait?: number;
  readonly token?: string;
  /** As if another process had sent it: the one that is asked answers it by itself. */
  readonly forwarded?: boolean;
  /** The trace of the caller. */
  readonly traceparent?: string;
}

/**
 * How long a shard may be between two holders, or its commands not
 * yet taken over, on a machine that is busy.
 */
const takenOverWithinMs = 60_000;

/**
 * One request to the REST port of a service, as a caller makes it: what changes something
 * has an idempotency key, and is asked again, under the same key, while no process has
 * the commands of its account (`NOT_LEADER`).
 */
export async function call(
  service: RunningService,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<RestAnswer> {
  const address = await service.restAddress();
  const { key = randomUUID() } = options;
  const untilMs = systemClock.monotonicMs() + takenOverWithinMs;
  for (;;) {
    const answer = await callAt(address, method, path, { ...options, key });
    const isTaken = answer.status !== 503 || answer.body?.code !== 'NOT_LEADER';
    if (method === 'GET' || isTaken || options.forwarded || systemClock.monotonicMs() > untilMs) return answer;
    await systemClock.sleep(200);
  }
}

export async function callAt(
  address: string,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<RestAnswer> {
  const { body, key = randomUUID(), wait, token, forwarded = false, traceparent } = options;
  const response = await fetch(`${address}${path}`, {
    method,
    headers: {
      ...(method === 'GET' ? {} : { 'idempotency-key': key }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(wait === undefined ? {} : { prefer: `wait=${wait}` }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(traceparent === undefined ? {} : { traceparent }),
      ...(forwarded ? { 'tidemark-forwarded': 'a-test' } : {}),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}
