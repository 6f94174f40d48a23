// What a user saw: A gap's end made orders certain again that a later lost store still had to hold back.

import { expect, it } from 'vitest';
import { Uncertainty } from '../../../src/sandbox/faults/uncertainty.ts';
import { book } from '../../support/platform/book.ts';

it('of two faults on one order, only the end of the later one makes it certain again', async () => {
  const { exchange, clock, account, open } = book();
  const uncertainty = new Uncertainty({ exchange, clock });
  const order = open();
  uncertainty.gap(account, 1000);
  await clock.advance(500);
  uncertainty.storeLost(account, 5000, 0);
  await clock.advance(4000);
  expect(order.certainty).toBe('unknown_store_lost');
  await clock.advance(1500);
  expect(order.certainty).toBe('certain');
});
