import { jsonOrUndefined } from '../../src/runtime/json-or-undefined.ts';
import { parseJson } from '../../src/venue/parse-json.ts';
import { describeValue, isObject } from '../../src/venue/row-reader.ts';
import type { Frame, StreamProtocol, Venue } from '../../src/venue/venue.ts';
import { cove, coveOrders } from './cove-orders.ts';
import { signatureOf } from './cove-rest.ts';

const protocol: StreamProtocol = {
  hello: (credential, atMs) => JSON.stringify({ t: 'login', ...signatureOf(credential, 'login', atMs) }),
  read: (text) => {
    const message = jsonOrUndefined(text, parseJson);
    return isObject(message) ? readMessage(message) : unreadable('not_an_object', 'expected a JSON object');
  },
  subscribe: (id, acct) => JSON.stringify({ t: 'watch', id, acct }),
  unsubscribe: (id, acct) => JSON.stringify({ t: 'leave', id, acct }),
  closeReasons: new Map([[4001, 'slow_consumer']]),
};

function readMessage(message: Readonly<Record<string, unknown>>): Frame {
  const { t, id, acct, order, why } = message;
  const text = typeof why === 'string' ? why.slice(0, 500) : describeValue(why);
  switch (t) {
    case 'order':
      if (typeof acct === 'string' && acct !== '') return { kind: 'event', stream: cove, accountId: acct, row: order };
      return { ...unreadable('bad_target', `acct: ${describeValue(acct)}`), stream: cove };
    case 'welcome':
      return { kind: 'signed_in' };
    case 'watching':
    case 'left':
      if (typeof id !== 'string') return unreadable('missing_field', 'id: expected the id of a request');
      return { kind: t === 'left' ? 'unsubscribed' : 'subscribed', id };
    case 'no':
      return { kind: 'error', code: 'REFUSED', message: text, ...(typeof id === 'string' && { id }) };
    case 'bye':
      return { kind: 'ended', reason: why === 'key' ? 'unauthorized' : 'restarting', message: text };
    case 'beat':
      return { kind: 'heartbeat' };
    default:
      return unreadable('unknown_message', `t: ${describeValue(t)}`);
  }
}

function unreadable(reason: string, detail: string): Extract<Frame, { kind: 'unreadable' }> {
  return { kind: 'unreadable', reason, detail };
}

export const coveVenue: Venue = { [cove]: { orders: coveOrders, protocol } };
