import { describe, expect, it } from 'vitest';
import type { OrderView } from '../../../src/domain/order.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { alpacaCheck } from '../../../src/venue/alpaca/alpaca-check.ts';
import { alpacaRow, alpacaText, updateText } from '../../../src/venue/alpaca/fixtures/rows.ts';
import { checkLives } from '../../../src/venue/check/check-lives.ts';
import { checkFrames, checkWords } from '../../../src/venue/check/check-streams.ts';
import { checkVenue } from '../../../src/venue/check/check-venue.ts';
import { checkWrites } from '../../../src/venue/check/check-writes.ts';
import type { VenueUnderCheck } from '../../../src/venue/check/fixtures.ts';
import type { Frame } from '../../../src/venue/venue.ts';

const { venue, judgeWrite, streams } = alpacaCheck;

/** All but the hostile texts, which take the longest. */
function missingOf(under: VenueUnderCheck): string[] {
  const of = [under.venue, 'alpaca', streams.alpaca] as const;
  const checks = [...checkFrames(...of), ...checkWords(...of), ...checkLives(...of, seededRandom(1))];
  checks.push(...checkWrites(under));
  return checks.flatMap(({ name, missing }) => (missing === undefined ? [] : [`${name}: ${missing}`]));
}

it('Alpaca keeps the contract, on both of its streams', () => {
  const checks = [...checkVenue(alpacaCheck, seededRandom(1))];
  expect(checks.filter(({ missing }) => missing !== undefined)).toEqual([]);
  for (const stream of ['alpaca', 'alpaca_paper'])
    expect(new Set(checks.filter(({ name }) => name.includes(stream)).map(({ part }) => part)).size).toBe(6);
});

/** Alpaca whose live stream is decoded otherwise. */
const decoding = (change: (view: OrderView, found: (field: string) => unknown) => Partial<OrderView>) => {
  const { orders } = venue.alpaca;
  const decode: typeof orders.decode = (row, origin) => {
    const { view } = orders.decode(row, origin);
    return { view: { ...view, ...change(view, (field) => row.found(field)) } };
  };
  return { ...alpacaCheck, venue: { ...venue, alpaca: { ...venue.alpaca, orders: { ...orders, decode } } } };
};

const reading = (change: (frame: Frame, text: string) => Frame) => {
  const { protocol } = venue.alpaca;
  const read = (text: string) => change(protocol.read(text), text);
  return { ...alpacaCheck, venue: { ...venue, alpaca: { ...venue.alpaca, protocol: { ...protocol, read } } } };
};

const judging = (status: number, kind: 'refused' | 'not_sent') => {
  const reason = { code: 'X', message: 'no' };
  const judge: VenueUnderCheck['judgeWrite'] = (request, attemptId, observed) => {
    if (observed.kind !== 'answered' || observed.status !== status) return judgeWrite(request, attemptId, observed);
    return kind === 'refused' ? { kind, reason } : { kind, reason, mayRepeat: true };
  };
  return { ...alpacaCheck, judgeWrite: judge };
};

const ignored: Frame = { kind: 'unreadable', reason: 'unknown_event', detail: '' };
const milliseconds = (instant: string) => instant.replace(/(\.\d{3})\d*/, '$1');

describe('a build that misreads Alpaca is found by the check', () => {
  it.each<[string, VenueUnderCheck, string]>([
    [
      'takes a request for a status',
      decoding((_view, found) => (found('status') === 'pending_cancel' ? { status: 'unknown' } : {})),
      'alpaca, pending_cancel: it is unknown, and not new',
    ],
    [
      'takes a held exit for a working one',
      decoding((view) => (view.statusRaw === 'held' ? { status: 'new' } : {})),
      'alpaca, held: it is new, and not pending_new',
    ],
    [
      'cuts its times to milliseconds',
      decoding((view) => ({ updatedAt: milliseconds(view.updatedAt) })),
      'alpaca, suspended and resumed within a microsecond: its end has another status: "suspended" in place of "new"',
    ],
    [
      'knows no busted trade',
      reading((frame, text) => (text.includes('trade_bust') ? ignored : frame)),
      'alpaca, event trade_bust: it is unreadable (unknown_event), and not event',
    ],
    [
      'goes on without keys',
      reading((frame) => (frame.kind === 'ended' ? { kind: 'heartbeat' } : frame)),
      'alpaca, wrong keys: it is the message heartbeat, and not ended',
    ],
    [
      'takes a repeated reference for a refusal',
      judging(422, 'refused'),
      'place_alpaca, 422 for a repeated reference: it is refused, and the venue documents unknown',
    ],
    [
      'sends again beyond the rate, as the official SDK does',
      judging(429, 'not_sent'),
      'cancel_alpaca_paper, 429 beyond the rate: it is not_sent, and the venue documents unknown',
    ],
    [
      'sends again after a timeout, as the official SDK does',
      judging(504, 'not_sent'),
      'place_alpaca, any other 504: 504 with no body: a second write may follow',
    ],
  ])('because it %s', (_what, under, missing) => {
    expect(missingOf(under)).toContain(missing);
  });
});

describe('a session', () => {
  const { protocol } = venue.alpaca_paper;

  it('signs in with both parts of its credential, also where the secret has a colon', () => {
    expect(JSON.parse(protocol.hello?.(new Secret('PK1:a:b'), 0) ?? '')).toEqual({
      action: 'authenticate',
      data: { key_id: 'PK1', secret_key: 'a:b' },
    });
  });

  it('shows an event on its own stream, without an account', () => {
    expect(protocol.read(updateText('fill'))).toEqual({ kind: 'event', stream: 'alpaca_paper', row: alpacaRow });
    expect(JSON.parse(alpacaText())).toEqual(alpacaRow);
  });
});
