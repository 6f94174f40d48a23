import type { OrderView } from '../../src/domain/order.ts';
import type { LifeStep, StreamFixtures, VenueUnderCheck, WriteFixtures } from '../../src/venue/check/fixtures.ts';
import { cove, coveVenue, judgeCoveWrite } from './cove.ts';

type Row = Readonly<Record<string, unknown>>;

const accountId = 'C-17';
const row = {
  ...{ no: 8100412, acct: accountId, ref: 'ref-1', sym: 'AAPL', dir: 'B', kind: 'LMT', life: 'DAY' },
  ...{ state: 'LIVE', size: '100', limit: '191.50', done: '0', changed: 1795184701, desk: 4 },
};
const text = (fields: Row = {}) => JSON.stringify({ ...row, ...fields });
const event = (fields: Row = {}) => JSON.stringify({ t: 'order', acct: accountId, order: { ...row, ...fields } });
const message = (t: string, fields: Row = {}) => JSON.stringify({ t, ...fields });

const view: OrderView = {
  ...{ stream: cove, orderId: '8100412', accountId, side: 'buy', orderType: 'limit', timeInForce: 'day' },
  ...{ status: 'new', statusRaw: 'live', certainty: 'certain', pendingAction: 'none', clOrdId: 'ref-1' },
  ...{ quantity: '100', price: '191.5', cumQty: '0', leavesQty: '100', updatedAt: '2026-11-20T14:25:01.000Z' },
  instrument: { kind: 'equity', symbol: 'AAPL' },
  working: { quantity: '100', price: '191.5', orderType: 'limit' },
  extra: { desk: 4 },
};

const frames: StreamFixtures['frames'] = {
  'a new order': { text: event(), kind: 'event', shows: { view } },
  'an order without an account': { text: message('order', { order: row }), kind: 'unreadable', reason: 'bad_target' },
  'a row of another account': { text: event({ acct: 'C-18' }), kind: 'event', reason: 'foreign' },
  'signed in': { text: message('welcome'), kind: 'signed_in' },
  'a wrong key': { text: message('bye', { why: 'key' }), kind: 'ended' },
  watched: { text: message('watching', { id: 's-1' }), kind: 'subscribed' },
  left: { text: message('left', { id: 's-1' }), kind: 'unsubscribed' },
  refused: { text: message('no', { id: 's-1', why: 'no such account' }), kind: 'error' },
  'a sign of life': { text: message('beat'), kind: 'heartbeat' },
  'of tomorrow': { text: message('new_thing'), kind: 'unreadable', reason: 'unknown_message' },
};

const rows: StreamFixtures['rows'] = {
  'a whole order': { text: text(), shows: { view } },
  'a market order': { text: text({ kind: 'MKT', limit: null }) },
  'without a size': { text: text({ size: null }), reason: 'missing_field' },
  'with the time in words': { text: text({ changed: 'noon' }), reason: 'bad_instant' },
};

const statuses: StreamFixtures['words']['statuses'] = {
  ...{ WAIT: ['pending_new'], LIVE: ['new'], HALTED: ['suspended'], DONE: ['filled'] },
  ...{ PULLED: ['canceled'], LAPSED: ['expired'], NO: ['rejected'] },
};

const part = { done: '40', mean: '191.45' };
const whole = { state: 'DONE', done: '100', mean: '191.48' };

/** Events, and the row of a list at the end. All changes of a life may come in one second. */
function life(secondsApart: number, ...steps: readonly Row[]): LifeStep[] {
  const shown = steps.map((fields, step) => ({ changed: row.changed + step * secondsApart, ...fields }));
  const events = shown.map((fields) => ({ cause: 'stream' as const, text: event(fields) }));
  return [...events, { cause: 'snapshot', text: text(shown.at(-1)) }];
}

const lives: StreamFixtures['lives'] = {
  'filled in two parts': life(1, { state: 'WAIT' }, {}, part, whole),
  'filled within a second': life(0, { state: 'WAIT' }, {}, part, whole),
  'pulled after a part': life(1, {}, part, { ...part, asked: 'PULL' }, { ...part, state: 'PULLED' }),
  'halted, and live again': life(1, {}, { state: 'HALTED' }, {}),
  lapsed: life(1, {}, { state: 'LAPSED' }),
  'not taken': life(1, { state: 'WAIT' }, { state: 'NO', why: 'too large' }),
};

const refusals: WriteFixtures['answers'] = {
  '422 with its reason': { status: 422, text: '{"why":"SIZE"}', proves: 'refused' },
  '429 that did nothing': { status: 429, text: '{"why":"BUSY"}', proves: 'not_sent' },
  '401 for a wrong signature': { status: 401, text: '{"why":"SIGN"}', proves: 'refused' },
};

const terms = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '100', timeInForce: 'DAY', price: '191.5' };
const writes: VenueUnderCheck['writes'] = {
  place: {
    request: { kind: 'place', stream: cove, accountId, terms },
    attemptId: 'ref-1',
    answers: { accepted: { status: 201, text: text({ state: 'WAIT' }), proves: 'accepted' }, ...refusals },
  },
  cancel: {
    request: { kind: 'cancel', stream: cove, accountId, orderId: '8100412' },
    attemptId: 'ref-2',
    answers: { accepted: { status: 200, text: text({ asked: 'PULL' }), proves: 'accepted' }, ...refusals },
  },
};

/** For `tidemark venue check`. */
export const underCheck: VenueUnderCheck = {
  venue: coveVenue,
  streams: { [cove]: { accountId, frames, rows, words: { row: text(), statuses }, lives } },
  writes,
  judgeWrite: judgeCoveWrite,
};
