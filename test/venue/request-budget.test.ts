import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../src/observability/metrics.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';
import type { HttpResult } from '../../src/venue/http.ts';
import { KeySource } from '../../src/venue/key-source.ts';
import type { ReadBudget } from '../../src/venue/order-reads.ts';
import { answeredError } from '../../src/venue/platform-error.ts';
import { type Dialect, readVenue } from '../../src/venue/read-venue.ts';
import { type Purpose, purposes, RequestBudget } from '../../src/venue/request-budget.ts';
import type { WriteOptions } from '../../src/venue/write-result.ts';
import { writeVenue } from '../../src/venue/write-venue.ts';

const noonMs = Date.parse('2026-11-30T12:00:00Z');

interface Told {
  readonly left: number;
  readonly limit?: number;
  /** By the venue's clock. */
  readonly endsInMs?: number;
  readonly date?: string;
}

/** A venue a day behind our clock, which says what is left. */
function says({ left, limit = 200, endsInMs = 30_000, date = 'Sun, 29 Nov 2026 12:00:00 GMT' }: Told): HttpResult {
  const reset = (Date.parse(date) || noonMs) / 1000 + endsInMs / 1000;
  const words = { limit, remaining: left, reset };
  const headers = Object.fromEntries(Object.entries(words).map(([name, value]) => [`x-ratelimit-${name}`, `${value}`]));
  return { kind: 'answered', status: 200, headers: { date, ...headers }, text: '{}' };
}

/** Its sleeps are over at once, and take their time from the clock. */
function budgetAt(answer?: HttpResult) {
  const at = { ms: 5_000 };
  const clock = {
    ...systemClock,
    monotonicMs: () => at.ms,
    nowMs: () => noonMs + at.ms,
    sleep: async (ms: number) => {
      at.ms += ms;
    },
  };
  const held: Purpose[] = [];
  const budget = new RequestBudget(clock, (purpose) => held.push(purpose));
  if (answer !== undefined) budget.saw(answer);
  const takes = (purpose: Purpose) => {
    let count = 0;
    while (count < 1_000 && budget.take(purpose) === undefined) count += 1;
    return count;
  };
  return { at, clock, budget, held, takes };
}

describe("a venue's requests", () => {
  it('go to audits first of all no more, then to resyncs, places, look-ups, and last to cancels', () => {
    const { takes, budget, held } = budgetAt(says({ left: 200 }));
    expect([...purposes].reverse().map((purpose) => [purpose, takes(purpose)])).toEqual([
      ['audit', 100],
      ['resync', 40],
      ['place', 20],
      ['probe', 20],
      ['cancel', 20],
    ]);
    expect(held).toEqual([...purposes].reverse());
    expect(budget.take('cancel')).toEqual({
      waitMs: 30_000,
      message: "not sent: of the venue's 200 requests none is left for 30 s",
    });
  });

  it('are all there again once the venue counts anew, by its own clock', () => {
    const { takes, at, budget } = budgetAt(says({ left: 10 }));
    expect([takes('probe'), takes('cancel')]).toEqual([0, 10]);
    for (let over = 0; over < 10; over += 1) budget.saw(says({ left: 0 }));
    at.ms += 29_999;
    expect(budget.take('cancel')).toMatchObject({ waitMs: 1 });
    at.ms += 1;
    expect(takes('audit')).toBe(100);
  });

  it("count the user's other programs, by the newest answer", () => {
    const { takes, budget } = budgetAt(says({ left: 200 }));
    budget.saw(says({ left: 25 }));
    expect([takes('place'), takes('probe'), takes('cancel')]).toEqual([0, 5, 20]);
  });

  it.each<[string, HttpResult | undefined]>([
    ['nothing', undefined],
    ['no numbers', { kind: 'answered', status: 200, headers: {}, text: '' }],
    ['only how many are left', { kind: 'answered', status: 200, headers: { 'x-ratelimit-remaining': '0' }, text: '' }],
    ['no number', says({ left: -1 })],
    ['a number of 20 digits', says({ left: 0, limit: 2e19 })],
    ['a limit of none', says({ left: 0, limit: 0 })],
    ['no answer', { kind: 'failed', code: 'deadline', message: 'no answer', sent: 'maybe' }],
  ])('are not limited where the venue said %s', (_what, answer) => {
    expect(budgetAt(answer).takes('audit')).toBe(1_000);
  });

  it.each<[string, Partial<Told>, number]>([
    ['in a year', { endsInMs: 365 * 86_400_000 }, 60_000],
    ['in the past', { endsInMs: -5_000 }, 0],
    ['without a Date', { date: '', endsInMs: 20_000 }, 15_000],
  ])('are waited for as long as is sensible where the venue counts anew %s', (_what, told, waitMs) => {
    expect(budgetAt(says({ left: 0, ...told })).budget.take('cancel')?.waitMs ?? 0).toBe(waitMs);
  });
});

const dialect: Dialect = {
  sign: () => ({}),
  errorOf: (status, _body, retryAfterMs) => answeredError(status, { message: 'no' }, retryAfterMs),
};

function venueWith(told: Told) {
  const made = budgetAt(says(told));
  const { clock, budget: requests, at } = made;
  const sentAt: number[] = [];
  const http = {
    request: async () => {
      sentAt.push(at.ms);
      return says({ left: 150 });
    },
    close: async () => undefined,
  };
  const tokens = new KeySource(clock, new Secret('hush'), 'refused', { requests });
  const deps = { clock, random: seededRandom(1), tokens, http, metrics: createMetrics().platform };
  const read = (purpose: Purpose) => {
    const budget: ReadBudget = { purpose, mayRepeat: () => true };
    const address = { operation: 'list_orders', url: 'http://venue/orders' };
    return readVenue({ ...deps, budget }, dialect, address, new AbortController().signal);
  };
  const opened: string[] = [];
  const send = async () => says({ left: 3 });
  const lines = {
    open: async (url: string) => {
      opened.push(url);
      return { open: true, line: { send, close: () => undefined } } as const;
    },
  };
  const write = (purpose: Purpose, options: Partial<WriteOptions> = {}) =>
    writeVenue(
      { ...deps, lines },
      dialect.sign,
      {
        ...{ operation: 'place_order', purpose, method: 'POST', url: 'http://venue/orders' },
        judge: () => ({ kind: 'accepted', answer: {} }),
      },
      { mayWrite: async () => true, mayStillWrite: () => true, signal: new AbortController().signal, ...options },
    );
  return { ...made, read, write, sentAt, opened };
}

describe('issue: A hundred requests at once were told of 199 left, and later ones were refused by 429.', () => {
  const begin = (count: number) => {
    const made = budgetAt();
    for (let begun = 0; begun < count; begun += 1) made.budget.take('cancel');
    return made;
  };

  it('an answer does not know of those under way', () => {
    const { budget, takes } = begin(150);
    budget.saw(says({ left: 199 }));
    expect(takes('cancel')).toBe(50);
  });

  it('an answer that was overtaken gives none back', () => {
    const { budget, takes } = begin(150);
    for (const left of [50, 199]) budget.saw(says({ left }));
    budget.saw(says({ left: 51 }));
    expect(takes('cancel')).toBe(0);
  });

  it('those under way count in the next minute too, and each one that was not sent comes back', () => {
    const { at, budget, takes } = budgetAt(says({ left: 100 }));
    for (let begun = 0; begun < 80; begun += 1) budget.take('cancel');
    for (let unsent = 0; unsent < 30; unsent += 1) budget.unsent();
    at.ms += 30_000;
    expect(takes('cancel')).toBe(150);
    budget.saw(says({ left: 199, endsInMs: 90_000 }));
    expect(takes('cancel')).toBe(0);
  });
});

describe('issue: A cancel was never sent to a venue that does not say how many requests are left.', () => {
  it.each(purposes)('a request for a %s goes out where nothing was said', (purpose) => {
    expect(budgetAt().takes(purpose)).toBe(1_000);
  });
});

describe('issue: Used-up requests at Alpaca left a cancel in doubt, since its 429 proves nothing.', () => {
  it('a write that the venue would not take is not sent, and may be repeated when it counts anew', async () => {
    const { write, opened, takes } = venueWith({ left: 21 });
    expect(await write('place')).toEqual({
      ...{ kind: 'not_sent', mayRepeat: true, retryAfterMs: 30_000 },
      reason: {
        code: 'REQUESTS_USED_UP',
        message: "not sent: of the venue's 200 requests the last 21 are kept for more urgent ones for 30 s",
      },
    });
    expect(opened).toEqual([]);
    expect(await write('cancel')).toMatchObject({ kind: 'accepted' });
    // Its answer said so.
    expect(takes('cancel')).toBe(3);
    expect(await write('cancel')).toMatchObject({
      kind: 'not_sent',
      reason: { message: expect.stringContaining('none is left') },
    });
    expect(opened).toHaveLength(1);
  });

  it('a write that was not permitted takes none', async () => {
    const { write, takes } = venueWith({ left: 40 });
    expect(await write('cancel', { mayWrite: async () => false })).toMatchObject({ kind: 'not_sent' });
    expect(takes('cancel')).toBe(40);
  });

  it('a read waits for the next minute, or says when it is where that is too long', async () => {
    const soon = venueWith({ left: 60, endsInMs: 20_000 });
    expect(await soon.read('audit')).toMatchObject({ ok: true });
    expect([soon.sentAt, soon.held]).toEqual([[25_000], ['audit']]);
    const late = venueWith({ left: 60, endsInMs: 40_000 });
    expect(await late.read('audit')).toMatchObject({
      ok: false,
      error: { code: 'REQUESTS_USED_UP', sent: 'no', retryable: true, retryAfterMs: 40_000 },
    });
    expect(await late.read('probe')).toMatchObject({ ok: true });
    expect(late.sentAt).toEqual([5_000]);
  });
});

/** A limit for bursts: 429 while requests are left, or without a word of them. */
function refuses(headers: Readonly<Record<string, string>> = {}): HttpResult {
  return { kind: 'answered', status: 429, headers, text: '{}' };
}

describe('issue: Each place within the rest that the venue asked for met a 429, and became unknown.', () => {
  it.each<[string, HttpResult, number]>([
    ['it asks for 7 s', refuses({ 'retry-after': '7' }), 7_000],
    ['it has requests left', { ...says({ left: 150 }), ...refuses({ 'retry-after': '7' }) }, 7_000],
    ['it asks for an hour', refuses({ 'retry-after': '3600' }), 60_000],
    ['it asks for none', refuses(), 1_000],
  ])('no request but a cancel begins for a while where %s', (_what, answer, waitMs) => {
    const { budget, held, at } = budgetAt(answer);
    for (const purpose of ['audit', 'place', 'probe'] as const)
      expect(budget.take(purpose)).toMatchObject({ waitMs, message: expect.stringContaining('429') });
    expect(held).toEqual(['audit', 'place', 'probe']);
    expect(budget.take('cancel')).toMatchObject({ waitMs: Math.min(waitMs, 5_000) });
    at.ms += Math.min(waitMs, 5_000);
    expect(budget.take('cancel')).toBeUndefined();
  });

  it('a place is not sent, and may be repeated behind the rest', async () => {
    const { budget, write, opened } = venueWith({ left: 150 });
    budget.saw(refuses({ 'retry-after': '7' }));
    expect(await write('place')).toMatchObject({
      ...{ kind: 'not_sent', mayRepeat: true, retryAfterMs: 7_000 },
      reason: { code: 'REQUESTS_USED_UP' },
    });
    expect(opened).toEqual([]);
  });
});

describe('issue: All that had waited for a venue went out at once when its rest was over.', () => {
  it('one request goes each second until one has another answer than 429', () => {
    const { budget, takes, at } = budgetAt(refuses({ 'retry-after': '7' }));
    at.ms += 7_000;
    expect(takes('audit')).toBe(1);
    expect(takes('probe')).toBe(0);
    budget.saw(refuses());
    at.ms += 1_000;
    expect(takes('probe')).toBe(1);
    budget.saw(says({ left: 200 }));
    expect(takes('place')).toBe(160);
  });

  it('an answer to a request from before the rest says nothing of it', () => {
    const { budget, takes, at } = budgetAt(refuses({ 'retry-after': '7' }));
    budget.saw({ kind: 'failed', code: 'deadline', message: 'no answer', sent: 'maybe' });
    at.ms += 7_000;
    expect(takes('audit')).toBe(1);
  });

  it('no answer at all keeps nobody out', () => {
    const { takes, at } = budgetAt(refuses());
    for (let second = 0; second < 3; second += 1) {
      at.ms += 1_000;
      expect(takes('audit')).toBe(1);
    }
  });
});
