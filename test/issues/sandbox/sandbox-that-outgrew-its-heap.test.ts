// What a user saw: A sandbox that ran for long ended without memory, on settings that nobody had changed.

import { expect, it } from 'vitest';
import { sandboxOptions } from '../../../src/sandbox/sandbox-options.ts';

/** Measured at the highest rate, 500,001 orders in 770 MB: the largest figure of three. */
const bytesPerOrder = 1_600;
/** Node's own choice on a machine of 2 GB. */
const smallestHeapBytes = 2 ** 30;

it('keeps no more orders than fit the heap of a small machine', () => {
  const { maxOrders, openOrders } = sandboxOptions.parse({}).market;
  expect(maxOrders * bytesPerOrder).toBeLessThan(0.8 * smallestHeapBytes);
  expect(maxOrders).toBeGreaterThan(100 * openOrders);
});
