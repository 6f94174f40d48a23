import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { quietThrottleTimer } from '../../../src/service/log/kafkajs/kafka-client.ts';

const load = createRequire(import.meta.url);

interface Queue {
  pending: unknown[];
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  scheduleCheckPendingRequests(): void;
  destroy(): void;
}
const RequestQueue = load('kafkajs/src/network/requestQueue') as new (options: object) => Queue;
const logger = { debug: () => undefined, warn: () => undefined };

/** kafkajs 2.2.4, on which the override is written: another version has to be looked at again. */
describe('the throttle timer of kafkajs', () => {
  it('is that of the version that was read', () => {
    expect((load('kafkajs/package.json') as { version: string }).version).toBe('2.2.4');
  });

  it('is not armed when nothing waits, and is when something does', () => {
    quietThrottleTimer();
    quietThrottleTimer();
    const queue = new RequestQueue({
      maxInFlightRequests: null,
      requestTimeout: 1000,
      enforceRequestTimeout: false,
      clientId: 'c',
      broker: 'b',
      logger,
    });
    queue.scheduleCheckPendingRequests();
    expect(queue.throttleCheckTimeoutId).toBeNull();
    queue.pending.push({});
    queue.throttledUntil = Date.now() + 60_000;
    queue.scheduleCheckPendingRequests();
    expect(queue.throttleCheckTimeoutId).not.toBeNull();
    queue.destroy();
  });
});
