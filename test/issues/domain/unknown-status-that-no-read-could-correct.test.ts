// What a user saw: An order stayed at the status unknown, though each read of it showed the true one.

import { expect, it } from 'vitest';
import { reduce } from '../../../src/domain/reduce.ts';
import { equityView, instantAt } from '../../support/orders/arbitrary-orders.ts';
import { fold, observe } from '../../support/orders/observe.ts';

// Found by the property of corrections, with 2,000 draws in one run of six: the status that the
// order showed was none that a view could contradict.
it('takes a status from two reads, where a later instant left it out', () => {
  const unknown = { ...equityView, status: 'unknown', statusRaw: 'SOMETHING', updatedAt: instantAt(1) } as const;
  const { head } = fold([observe(unknown)]);
  const read = { ...equityView, status: 'pending_new', statusRaw: 'pending_new', updatedAt: instantAt(0) } as const;
  const asked = reduce(head, observe(read, { cause: 'snapshot' }));
  expect(asked).toMatchObject({ doubt: 'older' });
  const told = reduce(head, observe(read, { cause: 'probe', correction: true, overrules: head.revision }));
  expect(told).toMatchObject({ outcome: 'applied', head: { order: { status: 'pending_new' } } });
});
