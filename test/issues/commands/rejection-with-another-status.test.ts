// What a user saw: An order that the platform had rejected with 400 stayed unknown, and three halted all.

import { expect, it } from 'vitest';
import { errorFromAnswer } from '../../../src/venue/platform/platform-error.ts';

// The statuses are held by test/venue/platform/judge-write.test.ts.
it('the words of a rejection are those of the order response', () => {
  const body = { success: false, status: 'REJECTED', text: 'Unknown symbol', ordRejReason: 'SYMBOL' };
  expect(errorFromAnswer(400, body)).toMatchObject({ code: 'SYMBOL', message: 'Unknown symbol', status: 400 });
});

it.each([{ success: true, text: 'fine' }, { success: false }, { text: 'no' }])('%j is no rejection', (body) => {
  expect(errorFromAnswer(400, body).message).toBe('status 400');
});
