import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { EntryAccounts } from '../../../src/service/run/platform-parts.ts';
import { accountRow, predictionRow, rowText } from '../../../src/venue/platform/fixtures/rows.ts';
import type { AccessToken, TokenSource } from '../../../src/venue/tokens.ts';
import { writeDeps } from '../../support/commands/order-writes.ts';
import { platformEntry } from '../../support/commands/platform-entry.ts';
import { placePrediction } from '../../support/commands/resolving.ts';
import { httpAnswer, scriptedWire, wholeRequest } from '../../support/platform/scripted-wire.ts';

const attemptId = 'tm-0b0e7a52-5b3f-4d0e-9a53-6a2f0d3c1b11';
const orderId = String(predictionRow['orderId']);
const requests = {
  place: {
    kind: 'place',
    stream: 'account',
    accountId: 'acct-1',
    terms: { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '100', timeInForce: 'DAY', price: '191.5' },
  },
  cancel: { kind: 'cancel', stream: 'account', accountId: 'acct-1', orderId: 'ord-1' },
  placePrediction,
  replace: { kind: 'replace', stream: 'prediction', accountId: 'acct-1', orderId, terms: { price: '0.45' } },
  cancelPrediction: { kind: 'cancel', stream: 'prediction', accountId: 'acct-1', orderId },
} as const satisfies Record<string, CommandRequest>;
type Name = keyof typeof requests;
const names = Object.keys(requests) as Name[];

const orderAnswer = { success: true, clOrdId: attemptId, status: 'NEW', symbol: 'AAPL', side: 'BUY', qty: '100' };
const predictionAnswer = `{"success":true,"data":${rowText({ ...predictionRow, clientOrderRef: attemptId }, '9007199254740993')}}`;
const good: Record<Name, string> = {
  place: httpAnswer(200, JSON.stringify(orderAnswer)),
  cancel: httpAnswer(202, rowText(accountRow)),
  placePrediction: httpAnswer(202, predictionAnswer),
  replace: httpAnswer(202, predictionAnswer),
  cancelPrediction: httpAnswer(202, predictionAnswer),
};
const coded = (status: number, code: string) =>
  httpAnswer(status, JSON.stringify({ error: { code, type: 't', message: 'm' } }));

/**
 * Tokens of which the first is refused as soon as the platform
 * does; `next` is what a renewal brings.
 */
function renewingTokens(next: 'another' | 'the same' | 'none') {
  const made = (generation: number): AccessToken => ({
    secret: new Secret(`t${generation}`),
    generation,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
  });
  let generation = 1;
  const renewed: number[] = [];
  const tokens: TokenSource = {
    get: async () => ({ ok: true, token: made(generation) }),
    async renew(rejected) {
      renewed.push(rejected);
      if (next === 'none')
        return { ok: false, error: { code: 'LOGIN_REQUIRED', message: 'sign in', retryable: false, sent: 'yes' } };
      if (next === 'another' && rejected === generation) generation += 1;
      return { ok: true, token: made(generation) };
    },
    taken: () => undefined,
    onRenewed: () => () => undefined,
  };
  return { tokens, renewed, advance: () => (generation += 1) };
}

async function entryTo(answer: string, over: { tokens?: TokenSource; followed?: boolean; staging?: boolean } = {}) {
  const wire = await scriptedWire({
    onBytes: (socket, bytes) => wholeRequest(bytes) && socket.end(Buffer.from(answer, 'latin1')),
  });
  const offered: unknown[] = [];
  const expected: string[] = [];
  const { tokens = renewingTokens('another').tokens, followed = true, staging = true } = over;
  const accounts: EntryAccounts = {
    hasListed: true,
    tokensFor: () => (followed ? tokens : undefined),
    account: (stream) => ({
      live: true,
      certain: true,
      notEnrolled: false,
      isSim: true,
      lookFor: () => Promise.reject(new Error('not asked for')),
      lookAtAll: () => Promise.reject(new Error('not asked for')),
      lookAtOpen: () => Promise.reject(new Error('not asked for')),
      lookAt: () => Promise.reject(new Error('not asked for')),
      expectReply: () => {
        expected.push(`${stream} before ${wire.requests} requests`);
        return (row) => offered.push(row);
      },
    }),
  };
  const { lines, clock, metrics } = writeDeps(tokens);
  const addresses = { platformUrl: wire.url, ...(staging && { stagingUrl: wire.url }) };
  const entry = platformEntry({ accounts, lines, clock, metrics }, addresses);
  const send = (name: Name, mayWrite: () => Promise<boolean> = async () => true, mayStillWrite = () => true) =>
    entry.send(requests[name], attemptId, { mayWrite, mayStillWrite, signal: new AbortController().signal });
  return { wire, send, offered, expected };
}

describe('order entry', () => {
  it.each(names)('sends %s with the attempt’s id as our reference, and tells that it was accepted', async (name) => {
    const { wire, send } = await entryTo(good[name]);
    const isPrediction = requests[name].stream === 'prediction';
    const shown = isPrediction ? { orderId } : { ordId: 'ord-1' };
    const order = name === 'place' ? {} : { order: expect.objectContaining(shown) };
    expect(await send(name)).toEqual({ kind: 'accepted', answer: expect.any(Object), ...order });
    const [head = '', body = ''] = wire.received[0]?.split('\r\n\r\n') ?? [];
    expect(head).toContain('authorization: Bearer t1');
    if (requests[name].kind !== 'place') return;
    const sent = JSON.parse(body) as Record<string, unknown>;
    expect(sent).toEqual({
      ...requests[name].terms,
      accountId: 'acct-1',
      ...(isPrediction ? { clientOrderRef: attemptId } : { clientId: attemptId }),
    });
  });

  it.each(['cancel', 'placePrediction', 'replace', 'cancelPrediction'] as const)(
    'gives the order that the answer to %s shows to ingest, by the intake as it was before the write',
    async (name) => {
      const { send, offered, expected } = await entryTo(good[name]);
      await send(name);
      expect(expected).toEqual([`${requests[name].stream} before 0 requests`]);
      expect(offered).toMatchObject(
        name === 'cancel' ? [{ ordId: 'ord-1', ordStatus: 'NEW' }] : [{ orderId, version: '9007199254740993' }],
      );
    },
  );

  it('keeps what the answer said as evidence, without what is not known of it', async () => {
    const { send } = await entryTo(
      httpAnswer(200, JSON.stringify({ ...orderAnswer, text: 'x'.repeat(2000), surprise: 's' })),
    );
    const result = await send('place');
    expect(result).toEqual({ kind: 'accepted', answer: { ...orderAnswer, text: 'x'.repeat(500) } });
  });

  it('tells a rejection by success false, with its reason', async () => {
    const rejection = {
      ...orderAnswer,
      success: false,
      status: 'REJECTED',
      ordRejReason: 'NO_MONEY',
      text: 'not enough',
    };
    const { send } = await entryTo(httpAnswer(200, JSON.stringify(rejection)));
    expect(await send('place')).toMatchObject({
      kind: 'rejected',
      reason: { code: 'NO_MONEY', message: 'not enough', status: 200 },
    });
  });

  it.each([
    ['placePrediction', 429, 'ORDER_ENTRY_AT_CAPACITY'],
    ['replace', 503, 'ORDER_ENTRY_UNAVAILABLE'],
    ['cancelPrediction', 429, 'ORDER_ENTRY_AT_CAPACITY'],
  ] as const)('tells that %s was not sent, and may be repeated, by the documented %d', async (name, status, code) => {
    const { send } = await entryTo(coded(status, code));
    expect(await send(name)).toEqual({ kind: 'not_sent', mayRepeat: true, reason: { code, message: 'm', status } });
  });

  it.each(['place', 'cancel'] as const)('takes no 429 and no 503 for a promise on %s', async (name) => {
    for (const [status, code] of [
      [429, 'ORDER_ENTRY_AT_CAPACITY'],
      [503, 'ORDER_ENTRY_UNAVAILABLE'],
    ] as const) {
      const { send } = await entryTo(coded(status, code));
      expect(await send(name)).toMatchObject({ kind: 'unknown', reason: { code, status } });
    }
  });

  it.each(names)('tells a refusal of %s with the platform’s own code, and knows nothing after a 504', async (name) => {
    expect(await (await entryTo(coded(403, 'FORBIDDEN'))).send(name)).toEqual({
      kind: 'refused',
      reason: { code: 'FORBIDDEN', message: 'm', status: 403 },
    });
    const { send, offered } = await entryTo(coded(504, 'REQUEST_OUTCOME_UNKNOWN'));
    expect(await send(name)).toMatchObject({
      kind: 'unknown',
      reason: { code: 'REQUEST_OUTCOME_UNKNOWN', status: 504 },
    });
    expect(offered).toEqual([]);
  });
});

describe('order entry, when the token is refused', () => {
  it('renews it once and tells that another attempt may be made, but makes none', async () => {
    const { tokens, renewed } = renewingTokens('another');
    const { wire, send } = await entryTo(httpAnswer(401, ''), { tokens });
    expect(await send('place')).toMatchObject({ kind: 'refused', staleToken: true, reason: { status: 401 } });
    expect([wire.requests, renewed]).toEqual([1, [1]]);
  });

  it('tells so too when the token had been renewed while the request was under way', async () => {
    const { tokens, advance } = renewingTokens('the same');
    const { send } = await entryTo(httpAnswer(401, ''), { tokens });
    const result = send('place', async () => {
      advance();
      return true;
    });
    expect(await result).toMatchObject({ kind: 'refused', staleToken: true });
  });

  it.each(['the same', 'none'] as const)('is refused for good when the renewal brings %s', async (next) => {
    const { send } = await entryTo(httpAnswer(401, ''), { tokens: renewingTokens(next).tokens });
    const result = await send('place');
    expect(result).toMatchObject({ kind: 'refused', reason: { status: 401 } });
    expect(result).not.toHaveProperty('staleToken');
  });

  it('does not renew it after a 403', async () => {
    const { tokens, renewed } = renewingTokens('another');
    const { send } = await entryTo(httpAnswer(403, ''), { tokens });
    expect(await send('place')).toEqual({
      kind: 'refused',
      reason: { code: 'HTTP_403', message: 'the platform answered with status 403', status: 403 },
    });
    expect(renewed).toEqual([]);
  });
});

describe('order entry sends nothing', () => {
  const nothing = async (
    entry: Awaited<ReturnType<typeof entryTo>>,
    result: Promise<unknown>,
    mayRepeat: boolean,
    code: string,
  ) => {
    expect(await result).toMatchObject({ kind: 'not_sent', mayRepeat, reason: { code } });
    expect(entry.wire.requests).toBe(0);
  };

  it('when no credential follows the account', async () => {
    const entry = await entryTo('', { followed: false });
    await nothing(entry, entry.send('place'), true, 'NO_CREDENTIAL');
    expect(entry.wire.connections).toBe(0);
  });

  it('when a person has to sign in, or no token can be had just now', async () => {
    for (const [code, retryable] of [
      ['LOGIN_REQUIRED', false],
      ['TOKEN_UNAVAILABLE', true],
    ] as const) {
      const error = { code, message: 'm', retryable, sent: 'yes' as const };
      const tokens: TokenSource = { ...renewingTokens('none').tokens, get: async () => ({ ok: false, error }) };
      const entry = await entryTo('', { tokens });
      await nothing(entry, entry.send('place'), retryable, code);
    }
  });

  it.each(names)('when the last question is answered no, or cannot be answered: %s', async (name) => {
    const entry = await entryTo(good[name]);
    await nothing(
      entry,
      entry.send(name, async () => false),
      false,
      'NOT_PERMITTED',
    );
    await nothing(
      entry,
      entry.send(name, () => Promise.reject(new Error('the commit is not known'))),
      false,
      'NOT_PERMITTED',
    );
    const stopped = entry.send(
      name,
      async () => true,
      () => false,
    );
    await nothing(entry, stopped, false, 'NOT_PERMITTED');
  });

  it('when it breaks the platform’s own rules, or has no address', async () => {
    const entry = await entryTo(good.place);
    const terms = { ...requests.place.terms, side: 'buy' };
    const options = { mayWrite: async () => true, mayStillWrite: () => true, signal: new AbortController().signal };
    const { lines, clock, metrics } = writeDeps();
    const accounts: EntryAccounts = {
      hasListed: true,
      tokensFor: () => renewingTokens('another').tokens,
      account: () => undefined,
    };
    const sender = platformEntry({ accounts, lines, clock, metrics }, { platformUrl: entry.wire.url });
    await nothing(entry, sender.send({ ...requests.place, terms }, attemptId, options), false, 'INVALID_REQUEST');
    await nothing(entry, sender.send(requests.replace, attemptId, options), false, 'NOT_CONFIGURED');
  });

  it('when nobody listens: then it may be repeated', async () => {
    const { lines, clock, metrics } = writeDeps();
    const accounts: EntryAccounts = {
      hasListed: true,
      tokensFor: () => renewingTokens('another').tokens,
      account: () => undefined,
    };
    const entry = platformEntry({ accounts, lines, clock, metrics }, { platformUrl: 'http://127.0.0.1:1' });
    const result = await entry.send(requests.place, attemptId, {
      mayWrite: async () => true,
      mayStillWrite: () => true,
      signal: new AbortController().signal,
    });
    expect(result).toMatchObject({ kind: 'not_sent', mayRepeat: true, reason: { code: 'NO_ANSWER' } });
  });
});
