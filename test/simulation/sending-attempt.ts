import { AsyncLocalStorage } from 'node:async_hooks';
import type { OrderEntry } from '../../src/service/commands/order-entry.ts';

const attempts = new AsyncLocalStorage<string>();

/** Order entry whose lines know which attempt they carry: not every request names one. */
export function knownAttempts(entry: OrderEntry): OrderEntry {
  return {
    send: (request, attemptId, options) => attempts.run(attemptId, () => entry.send(request, attemptId, options)),
  };
}

/** The attempt on whose behalf the present code runs. */
export function presentAttempt(): string {
  return attempts.getStore() ?? 'none';
}
