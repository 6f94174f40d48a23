// What a user saw: An account never became live where the platform sent null for a field that may be missing.

// An account never got live, no token was had, every place was refused and a rejected place stayed
// unknown, where the platform sent null or an empty text for a field that it may leave out.
import { expect, it } from 'vitest';
import { wireSubjects } from '../../support/platform/wire-subjects.ts';
import { rowsOf } from '../../support/platform/wire-variations.ts';

it.each([
  ['page of account orders', 'nextCursor', 'complete, one page'],
  ['page of prediction orders', 'data.nextCursor', 'complete, one page'],
  ['token', 'refresh_token', 'without'],
  ['token', 'scope', 'without'],
  ['quotes', 'd.0.v.bid', 'without'],
  ['quotes', 'd.0.v.description', 'without'],
  ['rejected place', 'avgPrice', 'without'],
  ['rejected place', 'text', 'without'],
  ['refused replace (400)', 'error.message', 'without'],
  ['answer to placePredictionOrder', 'data.leavesQty', 'without'],
])('%s: %s as null or "" reads as left out', async (name, field, outcome) => {
  const subject = wireSubjects.find((each) => each.name === name);
  if (subject === undefined) throw new Error(`no subject ${name}`);
  const row = (await rowsOf(subject)).find((each) => each.field === field);
  expect(row?.cells).toMatchObject({ absent: outcome, null: outcome, empty: outcome });
});

it('an empty page may come as null', async () => {
  for (const subject of wireSubjects.filter(({ name }) => name.startsWith('page of '))) {
    const orders = (await rowsOf(subject)).find(({ field }) => field.endsWith('orders'));
    expect(orders?.cells.null).toBe('without');
  }
});
