import { randomUUID } from 'node:crypto';
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
 * One request to the REST port of a service, as a caller makes it: what changes something has an
 * idempotency key.
 */
export async function call(
  service: RunningService,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<RestAnswer> {
  return callAt(await service.restAddress(), method, path, options);
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
