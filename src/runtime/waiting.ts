import type { Clock } from './clock.ts';

/**
 * An operation took longer than its limit. Retrying may help; whether it took effect is not known.
 */
export class DeadlineError extends Error {
  readonly code = 'DEADLINE';
  readonly retryable = true;

  constructor(what: string, limitMs: number) {
    super(`${what} took longer than ${limitMs} ms`);
    this.name = 'DeadlineError';
  }
}

/**
 * `work`, or a `DeadlineError` after `limitMs`. The work itself is not stopped: also cancel the
 * operation it waits for.
 */
export function withDeadline<T>(clock: Clock, limitMs: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = clock.after(limitMs, () => reject(new DeadlineError(what, limitMs)));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}

type OwnSignal = { readonly signal: AbortSignal } & Disposable;

/**
 * A signal that aborts with the first of the others, for its reason. Disposing it (`using`) lets go
 * of the others. Not by `AbortSignal.any`: Node keeps such a signal, and everything its listeners
 * hold, as long as none of its sources aborts.
 */
export function abortWith(...others: readonly AbortSignal[]): OwnSignal {
  const over = new AbortController();
  const stops = others.map((other) => {
    const stop = () => over.abort(other.reason);
    if (other.aborted) stop();
    else other.addEventListener('abort', stop, { once: true });
    return () => other.removeEventListener('abort', stop);
  });
  const dispose = () => {
    for (const stop of stops) stop();
  };
  return { signal: over.signal, [Symbol.dispose]: dispose };
}

/** `abortWith`, and after `limitMs` (with a `DeadlineError` that says `what` took longer). */
export function abortAfter(clock: Clock, limitMs: number, what: string, ...others: readonly AbortSignal[]): OwnSignal {
  const late = new AbortController();
  const timer = clock.after(limitMs, () => late.abort(new DeadlineError(what, limitMs)));
  const either = abortWith(late.signal, ...others);
  const dispose = () => {
    timer.cancel();
    either[Symbol.dispose]();
  };
  return { signal: either.signal, [Symbol.dispose]: dispose };
}

/** Resolves when the signal aborts, or has. For one that ends with its waiter. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** `work`, or the signal's reason once it aborts. The work itself goes on. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/**
 * Runs `work` at most once at a time: callers that come while it runs share its result or its
 * error.
 */
export class SingleFlight<T> {
  private current: Promise<T> | undefined;

  get running(): boolean {
    return this.current !== undefined;
  }

  run(work: () => Promise<T>): Promise<T> {
    this.current ??= work().finally(() => {
      this.current = undefined;
    });
    return this.current;
  }
}

/**
 * Runs `work` again and again until a signal aborts, each time `nextMs()` after the run before
 * ended: runs never overlap. Rejects as `work` does.
 */
export async function repeat(
  clock: Clock,
  nextMs: () => number,
  work: () => Promise<void>,
  ...signals: AbortSignal[]
): Promise<void> {
  const isOver = () => signals.some((signal) => signal.aborted);
  while (!isOver()) {
    await clock.sleep(nextMs(), ...signals);
    if (!isOver()) await work();
  }
}

/**
 * One waiter, many wakers: `wait` resolves at the next `wake`, or at once when one came since the
 * last `wait`. A loop that waits here never misses work arriving while it is busy, and never polls.
 */
export class Wakeup {
  private pending = false;
  private waiter: (() => void) | undefined;

  wake(): void {
    const waiter = this.waiter;
    if (waiter === undefined) {
      this.pending = true;
      return;
    }
    this.waiter = undefined;
    waiter();
  }

  wait(): Promise<void> {
    if (this.pending) {
      this.pending = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.waiter = resolve;
    });
  }
}

interface Fetched {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Headers;
  readonly text: string;
}

/**
 * A request (a GET without `init`) with its body, or a `DeadlineError`. Rejects as `fetch` does
 * when nothing answers. No redirect is followed unless it says so.
 */
export async function fetchWithin(
  io: { readonly fetch: typeof fetch; readonly clock: Clock },
  url: string,
  limitMs: number,
  init: RequestInit = {},
): Promise<Fetched> {
  const abort = new AbortController();
  const work = async (): Promise<Fetched> => {
    const response = await io.fetch(url, { redirect: 'manual', ...init, signal: abort.signal });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  try {
    return await withDeadline(io.clock, limitMs, new URL(url).origin, work());
  } catch (error) {
    if (error instanceof DeadlineError) abort.abort();
    throw error;
  }
}

/**
 * Works through all items, at most `width` at a time. Rejects with the first error, once all work
 * already begun has ended.
 */
export async function inParallel<T>(
  items: Iterable<T>,
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items].reverse();
  const run = async () => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await work(item);
  };
  const results = await Promise.allSettled(Array.from({ length: Math.min(width, queue.length) }, run));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
