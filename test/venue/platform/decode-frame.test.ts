import { describe, expect, it } from 'vitest';
import { decodeFrame } from '../../../src/venue/platform/decode-frame.ts';
import { accountRow, eventText } from '../../../src/venue/platform/fixtures/rows.ts';

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
    ['no type', null, {}],
    ['a type of another name', 'snapshot', {}],
    ['a type in capitals', 'EVENT', {}],
    ['no topic', 'event', { topic: null }],
    ['no name', 'event', { name: '' }],
    ['a topic and a name in capitals', 'event', { topic: 'ACCOUNT', name: 'Account.Order' }],
  ])('reads an event with %s: the rest says what it is', (_what, type, named) => {
    const { payload, ...message } = JSON.parse(eventText('account', 'acct-1', accountRow));
    const text = JSON.stringify({ ...message, type, payload: { ...payload, ...named } });
    expect(decodeFrame(text)).toEqual({ kind: 'event', stream: 'account', accountId: 'acct-1', row: accountRow });
  });

  it.each([
    ['{"type":"Heartbeat"}', { kind: 'heartbeat' }],
    ['{"type":"heartbeat","timestamp":"2026-11-21T14:30:00Z"}', { kind: 'heartbeat' }],
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

  it.each([
    ['', 'not_json'],
    ['<html>', 'not_json'],
    ['{"type":"event"', 'not_json'],
    ['[]', 'not_an_object'],
    ['null', 'not_an_object'],
    ['"event"', 'not_an_object'],
    ['{}', 'unknown_message'],
    ['{"type":"Tick"}', 'unknown_message'],
    ['{"type":"notice","payload":{"data":{"text":"closing early"}}}', 'unknown_message'],
    ['{"type":"notice","payload":{"topic":"news","data":{}}}', 'unknown_message'],
    ['{"type":"Event"}', 'missing_field'],
    ['{"type":"event","payload":{"target":"account:acct-1","data":{}}}', 'missing_field'],
    ['{"type":{"a":1}}', 'unknown_message'],
    ['{"type":"subscribed"}', 'missing_field'],
    ['{"type":"event"}', 'missing_field'],
    ['{"type":"event","payload":{"topic":"balance","name":"x"}}', 'unknown_message'],
    ['{"type":"event","payload":{"topic":"account","name":"account.position"}}', 'unknown_message'],
    ['{"type":"event","payload":{"topic":"account","name":"account.fill","data":{"ordId":"o-1"}}}', 'unknown_event'],
    ['{"type":"event","payload":{"topic":"account","name":"account.order","target":"account:"}}', 'bad_target'],
    ['{"type":"event","payload":{"topic":"account","name":"account.order","target":7}}', 'bad_target'],
  ])('says why it cannot read %s', (text, reason) => {
    expect(decodeFrame(text)).toMatchObject({ kind: 'unreadable', reason });
  });

  it('survives the deepest nesting that fits a frame, wherever it stands', () => {
    const deep = '['.repeat(30_000) + ']'.repeat(30_000);
    expect(decodeFrame(deep)).toMatchObject({ kind: 'unreadable' });
    expect(decodeFrame(`{"type":${deep}}`)).toMatchObject({ kind: 'unreadable', reason: 'unknown_message' });
    expect(decodeFrame(`{"type":"\\u0065vent","a":${deep}}`).kind).toBe('unreadable');
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
