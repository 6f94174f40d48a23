import { describe, expect, it } from 'vitest';
import type { HttpResult } from '../../../src/venue/http.ts';
import { judgeWrite, type WriteReading } from '../../../src/venue/platform/judge-write.ts';
import { errorFromAnswer } from '../../../src/venue/platform/read-platform.ts';
import { predictionErrors } from '../../../src/venue/platform/wire/error-bodies.ts';

const read: WriteReading['read'] = (value) => {
  const { ours, success } = value as { ours?: boolean; success?: boolean };
  return ours ? { kind: success === false ? 'rejected' : 'accepted', answer: { ours } } : 'another order';
};
const account: WriteReading = { refusals: new Set([400]), promisesNotSent: false, read };
const prediction: WriteReading = { refusals: new Set([400, 404, 409]), promisesNotSent: true, read };

const answered = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): HttpResult => ({
  kind: 'answered',
  status,
  headers,
  text: typeof body === 'string' ? body : JSON.stringify(body),
});
const nested = (code: string) => ({ error: { type: 't', code, message: 'm' } });
const envelope = (code: keyof typeof predictionErrors) => ({ success: false, ...nested(code) });
const flat = { error: 'no', codes: [{ code: 'X', description: 'd' }] };

/** `venue check platform` has what each write documents, and what proves nothing of any. */
describe('what is observed of a write of a prediction order', () => {
  it.each([
    ['200 about ours', answered(200, { ours: true }), 'accepted'],
    ['201 about ours', answered(201, { ours: true }), 'accepted'],
    ['400 with some other JSON', answered(400, { detail: 'x' }), 'unknown'],
    ['401 with a page', answered(401, '<html>'), 'refused'],
    ['409 with another code', answered(409, nested('DUPLICATE_ORDER')), 'unknown'],
    ['409 with the flat body', answered(409, flat), 'unknown'],
    ['429 with the word in a flat body', answered(429, { error: 'ORDER_ENTRY_AT_CAPACITY' }), 'unknown'],
    ['405', answered(405, nested('X')), 'unknown'],
  ])('judges %s', (_what, result, kind) => {
    expect(judgeWrite(result, prediction).kind).toBe(kind);
  });

  it.each(Object.entries(predictionErrors))('%s keeps its code, type and status', (code, { status, type }) => {
    const body = { success: false, error: { code, type, message: 'why' } };
    const result = judgeWrite(answered(status, body), prediction);
    expect(result).toMatchObject({ reason: { status, code, message: 'why' } });
    expect(errorFromAnswer(status, body)).toMatchObject({ status, code, type, message: 'why' });
  });
});

describe('what is observed of POST /v1/orders', () => {
  it.each([
    ['200 without success about another', answered(200, { success: false }), 'unknown'],
    ['201 with success', answered(201, { ours: true, success: true }), 'accepted'],
    ['422 without success', answered(422, { ours: true, success: false }), 'rejected'],
    ['409 without success', answered(409, { ours: true, success: false }), 'unknown'],
    ['400 that calls ours accepted', answered(400, { ours: true, success: true }), 'unknown'],
    ['422 without success about none', answered(422, { success: false, text: 'no such symbol' }), 'unknown'],
    ['404', answered(404, nested('NOT_FOUND')), 'unknown'],
    ['409', answered(409, nested('X')), 'unknown'],
    ['429 even with the prediction code', answered(429, envelope('ORDER_ENTRY_AT_CAPACITY')), 'unknown'],
    ['503 even with the prediction code', answered(503, envelope('ORDER_ENTRY_UNAVAILABLE')), 'unknown'],
  ])('judges %s', (_what, result, kind) => {
    expect(judgeWrite(result, account).kind).toBe(kind);
  });
});

describe('the time that the platform asks for', () => {
  const full = (retryAfter: string) =>
    answered(429, envelope('ORDER_ENTRY_AT_CAPACITY'), { 'retry-after': retryAfter });

  it('comes with the word that nothing was sent', () => {
    expect(judgeWrite(full('7'), prediction)).toMatchObject({ kind: 'not_sent', mayRepeat: true, retryAfterMs: 7_000 });
  });

  it.each(['soon', '-1', 'Wed, 21 Oct 2026 07:28:00 GMT', '1.5'])('is none where it is %s', (text) => {
    const result = judgeWrite(full(text), prediction);
    expect(result.kind).toBe('not_sent');
    expect(result).not.toHaveProperty('retryAfterMs');
  });
});
