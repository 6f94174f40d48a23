import type { Clock } from './clock.ts';
import { DeadlineError, withDeadline } from './deadline.ts';

export interface Fetched {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Headers;
  readonly text: string;
}

/** A GET with its body, or a `DeadlineError`. Rejects as `fetch` does when nothing answers. No redirect is followed. */
export async function fetchWithin(
  io: { readonly fetch: typeof fetch; readonly clock: Clock },
  url: string,
  limitMs: number,
): Promise<Fetched> {
  const abort = new AbortController();
  const work = async (): Promise<Fetched> => {
    const response = await io.fetch(url, { signal: abort.signal, redirect: 'manual' });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  try {
    return await withDeadline(io.clock, limitMs, new URL(url).origin, work());
  } catch (error) {
    if (error instanceof DeadlineError) abort.abort();
    throw error;
  }
}
