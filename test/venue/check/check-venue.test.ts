import { describe, expect, it } from 'vitest';
import type { OrderView, Stream } from '../../../src/domain/order.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { checkLives } from '../../../src/venue/check/check-lives.ts';
import { checkFrames, checkHostile, checkRows, checkWords } from '../../../src/venue/check/check-streams.ts';
import { checkVenue } from '../../../src/venue/check/check-venue.ts';
import { checkWrites } from '../../../src/venue/check/check-writes.ts';
import type { Check, LifeStep, StreamFixtures, VenueUnderCheck } from '../../../src/venue/check/fixtures.ts';
import { accountRow, eventText, predictionRow, type Row, rowText } from '../../../src/venue/platform/fixtures/rows.ts';
import { platformCheck } from '../../../src/venue/platform/platform-check.ts';
import type { StreamProtocol, Venue } from '../../../src/venue/venue.ts';
import type { WriteResult } from '../../../src/venue/write-result.ts';

const random = () => seededRandom(1);
const { venue, streams, writes, judgeWrite } = platformCheck;

it('the platform keeps the contract', () => {
  const checks = [...checkVenue(platformCheck, random())];
  expect(checks.filter(({ missing }) => missing !== undefined)).toEqual([]);
  const parts = new Set(checks.map(({ part }) => part));
  expect([...parts].sort()).toEqual(['frames', 'hostile', 'lives', 'rows', 'words', 'writes']);
});

function missingOf(checks: Iterable<Check>): string[] {
  return [...checks].flatMap(({ name, missing }) => (missing === undefined ? [] : [`${name}: ${missing}`]));
}

/** The platform with another protocol of its account stream. */
const speaking = (read: StreamProtocol['read']) => ({
  ...venue,
  account: { ...venue.account, protocol: { ...venue.account.protocol, read } },
});

/** The platform whose account orders are decoded otherwise. */
const decoding = (change: (view: OrderView, status: unknown) => Partial<OrderView>) => {
  const { orders } = venue.account;
  const decode: typeof orders.decode = (row, origin) => {
    const { view } = orders.decode(row, origin);
    return { view: { ...view, ...change(view, row.found('ordStatus')) } };
  };
  return { ...venue, account: { ...venue.account, orders: { ...orders, decode } } };
};

const one = (over: Partial<StreamFixtures>): StreamFixtures => ({
  ...{ accountId: 'acct-1', frames: {}, rows: {}, words: streams.account.words, lives: {} },
  ...over,
});
const event = { text: eventText('account', 'acct-1', accountRow), kind: 'event' } as const;

describe('a frame', () => {
  const { read } = venue.account.protocol;
  const heartbeat = { text: '{"type":"heartbeat"}', kind: 'heartbeat' } as const;
  it.each<[string, StreamProtocol['read'], StreamFixtures['frames'], string]>([
    ['throws', () => fails('no such type'), { a: heartbeat }, 'the frame throws: no such type'],
    ['has no reason', () => unreadable(''), { a: heartbeat }, 'the frame is unreadable without a reason'],
    ['is unreadable', () => unreadable('odd'), { a: heartbeat }, 'it is unreadable (odd), and not heartbeat'],
    ['is of another kind', read, { a: { ...event, kind: 'error' } }, 'it is read as an order, and not error'],
    ['is no event', read, { a: { ...heartbeat, kind: 'event' } }, 'it is the message heartbeat, and not event'],
    [
      'is read and should not be',
      read,
      { a: { ...event, reason: 'odd' } },
      'it is read as an order, and not unreadable (odd)',
    ],
    [
      'is of another stream',
      read,
      { a: { ...event, text: eventText('prediction', 'acct-1', predictionRow, 1n) } },
      'it is of the stream prediction',
    ],
    [
      'is of another account',
      read,
      { a: { ...event, text: eventText('account', 'acct-2', { ...accountRow, accountId: 'acct-2' }) } },
      'it is of the account acct-2, and not acct-1',
    ],
  ])('that %s has its line', (_what, reads, frames, missing) => {
    expect(missingOf(checkFrames(speaking(reads), 'account', one({ frames })))).toContain(`account, a: ${missing}`);
  });

  it('of its own that is empty, or an order when it is sent back, has its line', () => {
    const { account } = venue;
    const saying = (subscribe: string): Venue => {
      return { ...venue, account: { ...account, protocol: { ...account.protocol, subscribe: () => subscribe } } };
    };
    expect(missingOf(checkFrames(saying(''), 'account', streams.account))).toEqual([
      'account, its own messages: subscribe is empty, or another message each time',
    ]);
    expect(missingOf(checkFrames(saying(event.text), 'account', streams.account))).toEqual([
      'account, its own messages: subscribe, sent back: it is read as an order',
    ]);
  });

  it('of its own that signs in is tried too, and needs the answers to it', () => {
    const { account } = venue;
    const hello = { ...venue, account: { ...account, protocol: { ...account.protocol, hello: () => event.text } } };
    expect(missingOf(checkFrames(hello, 'account', streams.account))).toEqual([
      'account, a frame that is signed_in: none is recorded',
      'account, a frame that is ended: none is recorded',
      'account, its own messages: hello, sent back: it is read as an order',
    ]);
  });

  it('of a needed kind that is not recorded has its line', () => {
    expect(missingOf(checkFrames(venue, 'account', one({})))).toEqual([
      'account, a frame that is event: none is recorded',
      'account, a frame that is subscribed: none is recorded',
    ]);
  });
});

describe('a hostile text', () => {
  it('that throws has its line, with the count of the others', () => {
    const careless = decoding((view) => ({ quantity: view.quantity === '' ? fails('quantity') : view.quantity }));
    const [line] = missingOf(checkHostile(careless, 'account', one({ rows: { a: { text: rowText(accountRow) } } })));
    expect(line).toMatch(/^account, a: without qty: the row throws: quantity; and \d+ more texts$/);
  });

  it('that is a part of a message and read as an order has its line', () => {
    const { read } = venue.account.protocol;
    const lenient = speaking((text) => {
      const frame = read(text);
      return frame.kind === 'unreadable' ? read(event.text) : frame;
    });
    const [line] = missingOf(checkHostile(lenient, 'account', one({ frames: { a: event } })));
    expect(line).toMatch(/^account, a: cut after 0 characters: it is read as an order; and \d+ more texts$/);
  });
});

describe('a frame that is no JSON', () => {
  it('is cut and doubled, and has no fields to change', () => {
    const pinging = speaking((text) => (text === 'ping' ? { kind: 'heartbeat' } : unreadable('odd')));
    const frames = { a: { text: 'ping', kind: 'heartbeat' } } as const;
    expect([...checkHostile(pinging, 'account', one({ frames }))]).toEqual([{ part: 'hostile', name: 'account, a' }]);
  });
});

describe('a row', () => {
  let count = 0;
  const counted = () => {
    count += 1;
    return { price: String(count) };
  };
  it.each<[string, Venue, string]>([
    ['is read in two ways', decoding(counted), 'the same row is read in two ways'],
    ['lacks a field', decoding(() => ({ side: undefined as never })), 'side is left out'],
    [
      'has a decimal as it came',
      decoding(() => ({ price: '191.50' })),
      'price is "191.50", and not a canonical decimal',
    ],
    [
      'has another instant',
      decoding(() => ({ updatedAt: 'noon' })),
      'updatedAt is "noon", and not an instant of ISO 8601',
    ],
    ['has an empty text', decoding(() => ({ clOrdId: '' })), 'clOrdId is "", and not a text that can be stored'],
    [
      'has an id with a blank',
      decoding(() => ({ orderId: 'a\n' })),
      'orderId is "a\\n", and not a text that can be stored',
    ],
    ['has a word in capitals', decoding(() => ({ side: 'BUY' })), 'side is "BUY", and not a word in small letters'],
    [
      'has a status of its own',
      decoding(() => ({ status: 'held' as never })),
      'status is "held", and not a status of ours',
    ],
    [
      'has a symbol as it came',
      decoding(() => ({ instrument: { kind: 'equity', symbol: 'aapl' } })),
      'instrument.symbol is "aapl", and not a canonical symbol',
    ],
    [
      'has a working price as it came',
      decoding(() => ({ working: { quantity: '1', price: '1.0' } })),
      'working.price is "1.0", and not a canonical decimal',
    ],
    [
      'has a bigint in extra',
      decoding(() => ({ extra: { desk: 7n } })),
      'the row throws: Do not know how to serialize a BigInt',
    ],
    [
      'is of another account',
      decoding(() => ({ accountId: 'acct-2' })),
      'accountId is "acct-2", and not acct-1: names.accountId has to say its field',
    ],
    [
      'names another stream',
      decoding(() => ({ stream: 'prediction' })),
      'stream is "prediction", and not the stream account',
    ],
  ])('that %s has its line', (_what, broken, missing) => {
    const rows = { a: { text: rowText(accountRow) } };
    expect(missingOf(checkRows(broken, 'account', one({ rows })))).toContain(`account, a: ${missing}`);
  });

  it('that can not be read, or can and should not, or shows another order, has its line', () => {
    const row = platformCheck.streams.account.rows['limit order'];
    const rows = { a: { text: '{}' }, b: { text: rowText(accountRow), reason: 'bad_decimal' }, ...(row && { c: row }) };
    const broken = decoding(() => ({ leavesQty: '0' }));
    expect(missingOf(checkRows(broken, 'account', one({ rows })))).toEqual([
      'account, a: it is unreadable (missing_field: ordStatus: expected a string, found nothing)',
      'account, b: it is read as an order, and not unreadable (bad_decimal)',
      'account, c: leavesQty is "0", and not "100"',
    ]);
    expect(missingOf(checkRows(venue, 'account', one({})))).toEqual([
      'account, a row with the order that it shows: none is recorded',
    ]);
  });
});

describe('a word', () => {
  it('with another place than its own, or without its raw word, has its line', () => {
    const broken = decoding((view, word) => {
      if (word === 'SUSPENDED') return { status: 'new' };
      if (word === 'PENDING_CANCEL') return { pendingAction: 'none' };
      if (word === 'EXPIRED') return { statusRaw: 'ENDED' };
      return view.status === 'unknown' ? { status: 'pending_new' } : {};
    });
    expect(missingOf(checkWords(broken, 'account', streams.account))).toEqual([
      'account, PENDING_CANCEL: its pending action is none, and not cancel',
      'account, EXPIRED: its raw word is ENDED',
      'account, SUSPENDED: it is new, and not suspended',
      'account, tidemark_made_up: it is pending_new, and not unknown',
      'account, constructor: it is pending_new, and not unknown',
      'account, __proto__: it is pending_new, and not unknown',
    ]);
  });
});

describe('a life', () => {
  const life = (...rows: Row[]): LifeStep[] =>
    rows.map((row) => ({ cause: 'snapshot', text: rowText({ ...accountRow, ...row }) }));
  const filled = { ordStatus: 'FILLED', cumQty: '100', leavesQty: '0' };
  const later = { updatedAt: '2026-11-21T14:30:09Z' };
  /** Of another order, by its reference and its creation. */
  const stray = { createdAt: '2026-11-21T14:30:08Z', clOrdId: 'client-2' };
  it.each<[string, readonly LifeStep[], string]>([
    ['has no steps', [], 'in its true order: it has no steps'],
    [
      'has a step that can not be read',
      life({}, { qty: 'many' }),
      'step 2: it is unreadable (bad_decimal: qty: expected a decimal string, found "many")',
    ],
    ['is of several orders', life({}, { ordId: 'ord-2' }), 'in its true order: it has steps of several orders'],
    [
      'ends twice',
      life({ ordStatus: 'CANCELED', leavesQty: '0' }, { ...later, ...filled }),
      'in its true order: the end contradicts itself: ',
    ],
    [
      'does not end as its last step',
      life({ ...later, ordStatus: 'PARTIALLY_FILLED', cumQty: '40', leavesQty: '60' }, {}),
      'its end has another status: "partially_filled" in place of "new"',
    ],
    ['ends by the order of arrival', life({}, stray, { ...later, ...filled }), 'arriving as 2, 2, 1, 2'],
  ])('that %s has its line', (_what, steps, missing) => {
    const [line] = missingOf(checkLives(venue, 'account', one({ lives: { a: steps } }), random()));
    expect(line?.startsWith(`account, a: ${missing}`), line).toBe(true);
  });

  it('of more than five steps is tried in a sample of all orders of arrival', () => {
    const steps = [{}, {}, {}, {}, {}, stray, { ...later, ...filled }];
    const [line] = missingOf(checkLives(venue, 'account', one({ lives: { a: life(...steps) } }), random()));
    expect(line).toMatch(
      /^account, a: arriving as (?:\d, ){14}it has another clOrdId: "client-2" in place of "client-1"$/,
    );
  });

  it('that is not recorded has its line', () => {
    expect(missingOf(checkLives(venue, 'account', one({}), random()))).toEqual(['account, a life: none is recorded']);
  });
});

describe('a write', () => {
  type Judge = VenueUnderCheck['judgeWrite'];
  const reason = { code: 'X', message: 'no' };
  const judging = (judge: Judge, over: Partial<VenueUnderCheck> = {}) =>
    missingOf(checkWrites({ ...platformCheck, ...over, judgeWrite: judge }));
  /** What the platform makes of it, but for the answers of one status. */
  const but =
    (status: number, result: WriteResult): Judge =>
    (request, attemptId, observed) =>
      observed.kind === 'answered' && observed.status === status ? result : judgeWrite(request, attemptId, observed);

  it('that is refused or sent again without a proof has its line', () => {
    expect(judging(but(500, { kind: 'refused', reason }))).toContain(
      'cancel_order, any other 500: 500 with no body: it is refused, and unknown is all that is proved',
    );
    expect(judging(but(408, { kind: 'not_sent', reason, mayRepeat: false }))).toContain(
      'place_order, any other 408: 408 with no body: it is not_sent, and unknown is all that is proved',
    );
    expect(judging(but(504, { kind: 'not_sent', reason, mayRepeat: true }))).toEqual(
      expect.arrayContaining([
        'place_order, any other 504: 504 with no body: a second write may follow',
        'place_prediction_order, 504 REQUEST_OUTCOME_UNKNOWN: it is not_sent, and the venue documents unknown',
      ]),
    );
  });

  it('that takes another order, a page or nothing for its own has its line', () => {
    const accepting: Judge = (_request, _attemptId, observed) =>
      observed.kind === 'answered' ? { kind: 'accepted', answer: {} } : { kind: 'unknown', reason };
    const lines = judging(accepting).filter((line) => line.startsWith('cancel_order'));
    const proved = 'it is accepted, and unknown is all that is proved';
    expect(lines).toEqual(
      expect.arrayContaining([
        'cancel_order, 400 with no body: it is accepted, and the venue documents refused',
        'cancel_order, the connection ends before the write: connect: it is unknown, and not_sent is all that is proved',
        `cancel_order, a redirect: 301 with no body: ${proved}`,
        `cancel_order, a success without an order: 200 with {}: ${proved}`,
        `cancel_order, a success that is not JSON: 200 with no body: ${proved}`,
        `cancel_order, a success about another order: 200 with {"ordId":"ord-7","accountId":"acct-1","c…: ${proved}`,
        `cancel_order, a page with the status of a refusal: 400 with <html><body>Bad gateway</body></html>: ${proved}`,
      ]),
    );
  });

  it('that throws, or shows an order that can not be read or is another one, has its line', () => {
    expect(judging(() => fails('no table'))).toContain('place_order, accepted: it throws: no table');
    const showing = (order: unknown) => judging(but(202, { kind: 'accepted', answer: {}, order }));
    expect(showing({})).toContain(
      'cancel_order, accepted: of the order that it shows: it is unreadable (missing_field: ordStatus: expected a string, found nothing)',
    );
    expect(showing({ ...accountRow, ordId: 'ord-2' })).toContain(
      'cancel_order, accepted: it shows the order ord-2, and not ord-1',
    );
  });

  it('that is not recorded, or never accepted or refused, has its line', () => {
    const { place_order } = writes;
    if (place_order === undefined) throw new Error('the platform has no place_order');
    const streamsOf = (stream: Stream) => [`${stream}, a cancel: none is recorded`];
    expect(judging(judgeWrite, { writes: { place_order: { ...place_order, answers: {} } } })).toEqual([
      ...streamsOf('account'),
      'prediction, a place: none is recorded',
      ...streamsOf('prediction'),
      'prediction, a replace: none is recorded',
      'place_order, an answer that is accepted: none is recorded',
      'place_order, an answer that is refused: none is recorded',
    ]);
  });
});

function unreadable(reason: string) {
  return { kind: 'unreadable', reason, detail: '' } as const;
}

function fails(message: string): never {
  throw new Error(message);
}
