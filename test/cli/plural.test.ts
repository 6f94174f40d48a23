import { expect, it } from 'vitest';
import { plural } from '../../src/runtime/plural.ts';

it('says one thing as one, and none or several as many', () => {
  expect([0, 1, 2].map((n) => plural(n, 'order'))).toEqual(['0 orders', '1 order', '2 orders']);
  expect([0, 1, 2].map((n) => plural(n, 'key is', 'keys are'))).toEqual(['0 keys are', '1 key is', '2 keys are']);
});
