import { createRequire } from 'node:module';

/** The part of kafkajs's request queue that is overridden. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

const load = createRequire(import.meta.url);
const patched = Symbol.for('tidemark.kafkajs-throttle-timer');

/**
 * kafkajs 2.2.4 arms the timer of its throttle check also when nothing waits, with a delay computed from a "throttled until" of -1. Node ≥ 24 warns of the
 * negative delay (TimeoutNegativeWarning) and fires after 1 ms, and the check arms the next one: each connection wakes a thousand times a second for ever,
 * 2 % of a core when idle. With nothing pending there is nothing to check, and `push` arms the timer when something comes.
 *
 * Reaches into the package by path, so the version is pinned, and so is the expected behaviour, by a test. Safe to call again.
 */
export function quietThrottleTimer(): void {
  const { prototype } = load('kafkajs/src/network/requestQueue') as { prototype: RequestQueue & { [patched]?: true } };
  if (prototype[patched]) return;
  const original = prototype.scheduleCheckPendingRequests;
  if (typeof original !== 'function')
    throw new Error('kafkajs: scheduleCheckPendingRequests is gone; see src/kafka/throttle-timer.ts');
  prototype.scheduleCheckPendingRequests = function scheduleCheckPendingRequests(this: RequestQueue): void {
    if (this.pending.length > 0) original.call(this);
  };
  prototype[patched] = true;
}
