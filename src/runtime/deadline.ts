import type { Clock } from './clock.ts';

/** Something took longer than it was given. Retrying may help; whether it took effect is not known. */
export class DeadlineError extends Error {
  readonly code = 'DEADLINE';
  readonly retryable = true;

  constructor(what: string, limitMs: number) {
    super(`${what} took longer than ${limitMs} ms`);
    this.name = 'DeadlineError';
  }
}

/** `work`, or a `DeadlineError` after `limitMs`. The work itself is not stopped: cancel what it waits for besides. */
export function withDeadline<T>(clock: Clock, limitMs: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = clock.after(limitMs, () => reject(new DeadlineError(what, limitMs)));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}
