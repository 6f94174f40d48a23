import { describe, expect, it } from 'vitest';
import { errorFromAnswer } from '../../../src/venue/platform/read-platform.ts';

describe('errorFromAnswer', () => {
  it.each([
    [
      'the prediction envelope',
      409,
      { success: false, error: { code: 'ORDER_NOT_ACTIONABLE', message: 'closed', type: 'conflict' } },
      { status: 409, code: 'ORDER_NOT_ACTIONABLE', type: 'conflict', message: 'closed', retryable: false, sent: 'yes' },
    ],
    [
      'the nested body',
      403,
      { error: { type: 'forbidden', code: 'FORBIDDEN', message: 'no' } },
      { status: 403, code: 'FORBIDDEN', type: 'forbidden', message: 'no', retryable: false, sent: 'yes' },
    ],
    [
      'the flat body with codes',
      400,
      { error: 'bad', codes: [{ code: 'E1', description: 'the first' }] },
      { status: 400, code: 'E1', message: 'the first', retryable: false, sent: 'yes' },
    ],
    [
      'the flat body',
      400,
      { error: 'invalid_grant' },
      { status: 400, code: 'invalid_grant', message: 'invalid_grant', retryable: false, sent: 'yes' },
    ],
    [
      'the flat body with a text for people',
      500,
      { error: 'Internal error' },
      { status: 500, message: 'Internal error', retryable: true, sent: 'yes' },
    ],
    [
      'no body',
      503,
      undefined,
      { status: 503, message: 'the platform answered with status 503', retryable: true, sent: 'yes' },
    ],
    [
      'another body',
      429,
      ['x'],
      { status: 429, message: 'the platform answered with status 429', retryable: true, sent: 'yes' },
    ],
  ])('reads %s', (_, status, body, error) => {
    expect(errorFromAnswer(status, body)).toEqual(error);
  });

  it('cuts what is too long', () => {
    expect(errorFromAnswer(500, { error: 'x'.repeat(10_000) }).message).toHaveLength(500);
  });
});
