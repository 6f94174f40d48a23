import { describe, expect, it } from 'vitest';
import { decodeFrame } from '../../../src/venue/platform/decode-frame.ts';
import { accountRow, eventText } from '../../../src/venue/platform/fixtures/rows.ts';

/** `venue check platform` holds the other frames to their kind and reason. */
describe('decodeFrame', () => {
  it('names the stream and the account of an event and hands over its row', () => {
    expect(decodeFrame(eventText('account', 'acct-1', accountRow))).toEqual({
      kind: 'event',
      stream: 'account',
      accountId: 'acct-1',
      row: accountRow,
    });
  });

  it.each([
    ['{"type":"subscribed","id":"s1","payload":{}}', { kind: 'subscribed', id: 's1' }],
    ['{"type":"unsubscribed","id":"s1"}', { kind: 'unsubscribed', id: 's1' }],
    [
      '{"type":"error","id":"s1","payload":{"code":"FORBIDDEN","message":"no"}}',
      { kind: 'error', id: 's1', code: 'FORBIDDEN', message: 'no' },
    ],
    ['{"type":"error"}', { kind: 'error', code: 'UNKNOWN', message: '' }],
  ])('knows the control message %s', (text, frame) => {
    expect(decodeFrame(text)).toEqual(frame);
  });
});

describe('issue: An event whose account is only blanks was dropped as that of another account.', () => {
  it.each(['  ', 'acct-1 '])('is kept aside: %j', (accountId) => {
    expect(decodeFrame(eventText('account', accountId, accountRow))).toMatchObject(badTarget);
    const { payload, ...message } = JSON.parse(eventText('account', 'acct-1', { ...accountRow, accountId }));
    const text = JSON.stringify({ ...message, payload: { ...payload, target: null } });
    expect(decodeFrame(text)).toMatchObject(badTarget);
  });
});

const badTarget = { kind: 'unreadable', reason: 'bad_target', stream: 'account' };
