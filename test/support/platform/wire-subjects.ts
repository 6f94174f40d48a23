import type { Stream } from '../../../src/domain/order.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { decodeOrder } from '../../../src/service/sources/decode-order.ts';
import type { Http } from '../../../src/venue/http.ts';
import { parseJson } from '../../../src/venue/parse-json.ts';
import { decodeFrame } from '../../../src/venue/platform/decode-frame.ts';
import { exchangeToken } from '../../../src/venue/platform/exchange-token.ts';
import { accountRow, eventText, predictionRow, rowText } from '../../../src/venue/platform/fixtures/rows.ts';
import {
  readChartQuotes,
  readFdaCalendar,
  readInvestmentTheme,
  readOptionsQuotes,
  readOwnership,
  readPreviousDay,
  searchSymbols,
} from '../../../src/venue/platform/market-data.ts';
import { platformReads } from '../../../src/venue/platform/platform-reads.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import type { Fetched } from '../../../src/venue/platform/read-platform.ts';
import { readHealth } from '../../../src/venue/platform/user-data.ts';
import type { StreamTopic } from '../../../src/venue/platform/wire/stream-messages.ts';
import type { ReadDeps } from '../../../src/venue/read-venue.ts';
import type { WriteDeps } from '../../../src/venue/write-venue.ts';
import { fixedToken, writes } from '../commands/order-writes.ts';
import type { WireResult, WireSubject } from './wire-variations.ts';

const base = 'http://platform.test';
const { signal } = new AbortController();
/**
 * Waits are over at once, and so is the patience of a read: one
 * attempt shows what is made of an answer.
 */
const clock = { ...systemClock, sleep: () => systemClock.turn() };

/** A platform whose every answer is this text. */
function answering(text: string, status = 200): Http {
  const result = { kind: 'answered' as const, status, text, headers: { 'content-type': 'application/json' } };
  return { request: async () => result, close: async () => undefined };
}

function readDeps(text: string): ReadDeps {
  const once = { purpose: 'probe', mayRepeat: () => false } as const;
  const metrics = createMetrics().platform;
  return { http: answering(text), clock, random: seededRandom(1), tokens: fixedToken(), metrics, budget: once };
}

function fetched<T>(result: Fetched<T>): WireResult {
  return result.ok ? { word: 'read', facts: result.value } : { word: `no answer (${result.error.code})` };
}

async function token(text: string, status = 200): Promise<WireResult> {
  const credential = { clientId: 'id', clientSecret: new Secret('hush') };
  const fixed = { ...clock, nowMs: () => 0 };
  const deps = { http: answering(text, status), clock: fixed };
  const result = await exchangeToken(deps, base, credential, { kind: 'client_credentials' });
  if (!result.ok) return { word: result.refused ? 'refused: a person has to act' : 'no token, asked again' };
  const { accessToken, refreshToken, ...facts } = result.token;
  return { word: 'a token', facts: { ...facts, access: accessToken.reveal(), refresh: refreshToken?.reveal() } };
}

async function page(stream: StreamTopic, text: string): Promise<WireResult> {
  const rows: unknown[] = [];
  const asked: string[] = [];
  const http = answering(text);
  const counted: Http = {
    ...http,
    request(request) {
      asked.push(new URL(request.url).searchParams.get('cursor') ?? '');
      // The second page is the last one: what is asked for it shows how the first was read.
      return asked.length === 1 ? http.request(request) : answering(lastPage[stream]).request(request);
    },
  };
  const reads = platformReads({ ...readDeps(text), http: counted }, { platformUrl: base, stagingUrl: base });
  const list = { stream, accountId: 'acct-1', state: 'all' } as const;
  const budget = { purpose: 'probe', mayRepeat: () => false } as const;
  const result = await reads.listOrders(list, async (each) => void rows.push(...each.rows), signal, budget);
  if (!result.complete) return { word: `incomplete (${result.error.code})` };
  return { word: asked.length > 1 ? 'complete, two pages' : 'complete, one page', facts: { asked, rows } };
}

const lastPage: Readonly<Record<StreamTopic, string>> = {
  account: '{"orders":[]}',
  prediction: '{"success":true,"data":{"orders":[]}}',
};

async function accounts(text: string): Promise<WireResult> {
  const reads = platformReads(readDeps(text), { platformUrl: base, stagingUrl: base });
  const result = await reads.listAccounts(signal);
  if (!result.complete) return { word: `the list is not read (${result.error.code})` };
  return { word: `${result.accounts.length} listed`, facts: result.accounts };
}

function row(stream: Stream, cause: 'stream' | 'snapshot', value: unknown): WireResult {
  const origin = {
    venue: platformVenue,
    stream,
    cause,
    accountId: 'acct-1',
    sourceEpoch: 0,
    observedAtMs: 0,
    receivedMs: 0,
    bytes: 1,
  };
  const item = decodeOrder(value, origin, () => '');
  if (item.kind === 'unreadable') return { word: `kept aside (${item.reason}), read again` };
  if (item.kind === 'foreign') return { word: 'of another account' };
  if (item.kind === 'unacknowledged') return { word: 'without an id yet' };
  return { word: 'an order', facts: { view: item.view, version: item.sourceVersion?.toString() } };
}

function frame(text: string): WireResult {
  const { kind, ...facts } = decodeFrame(text);
  if (kind === 'unreadable') return { word: 'reason' in facts ? `kept aside (${facts.reason})` : 'kept aside' };
  return { word: kind, facts };
}

async function write(name: string, status: number, text: string): Promise<WireResult> {
  const observed = { kind: 'answered' as const, status, text, headers: {} };
  const line = { send: async () => observed, close: () => undefined };
  const lines = { open: async () => ({ open: true as const, line }) };
  const deps: WriteDeps = { lines, clock, tokens: fixedToken(), metrics: createMetrics().platform };
  const result = await writes[name]?.run(deps, base);
  if (result === undefined) throw new Error(`no write ${name}`);
  const { kind, ...facts } = result;
  return { word: kind, facts };
}

const wholeAccountRow = {
  ...accountRow,
  ordStatus: 'PARTIALLY_FILLED',
  cumQty: '40',
  leavesQty: '60',
  avgPrice: '191.2',
  text: 'ok',
};
const wholePredictionRow = {
  ...predictionRow,
  state: 'partially_filled',
  cumQty: '4',
  leavesQty: '6',
  avgPx: '0.39',
  certainty: 'certain',
  pendingAction: 'none',
  clientOrderRef: 'ref-1',
  venueOrderId: 'v-1',
  workingOrderType: 'limit',
  firstAckAt: '2026-11-21T14:30:00.500Z',
};
const leg = { symbol: 'AAPL261218C00200000', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' };
const rejection = {
  success: false,
  clOrdId: 'client-1',
  status: 'REJECTED',
  symbol: 'AAPL',
  side: 'BUY',
  qty: '100',
  cumQty: '0',
  leavesQty: '0',
  avgPrice: '0',
  text: 'no buying power',
  ordRejReason: 'INSUFFICIENT_FUNDS',
  transactTime: '2026-11-21T14:30:01.000Z',
};
const json = (value: unknown): string => JSON.stringify(value);
const nested = (code: string, type: string): string => json({ success: false, error: { code, message: 'no', type } });

/** Everything that the platform sends and this project reads. */
export const wireSubjects: readonly WireSubject[] = [
  {
    name: 'token',
    answer: json({ access_token: 't', token_type: 'Bearer', expires_in: 3600, refresh_token: 'r', scope: 'a b' }),
    read: (text) => token(text),
  },
  {
    name: 'refusal of a token (400)',
    answer: json({ error: 'invalid_grant', error_description: 'ended' }),
    read: (text) => token(text, 400),
  },
  {
    name: 'accounts',
    answer: json({
      accounts: [
        {
          trading_account_id: 'A-1',
          broker_account_id: 'b',
          status: 'OPEN',
          is_sim: true,
          account_type: 'x',
          account_class: 'y',
        },
        { trading_account_id: 'A-2', status: 'OPEN', is_sim: true },
      ],
    }),
    read: accounts,
  },
  {
    name: 'page of account orders',
    answer: json({ orders: [{ ordId: 'o' }], nextCursor: 'c-2' }),
    read: (text) => page('account', text),
  },
  {
    name: 'page of prediction orders',
    answer: json({ success: true, data: { orders: [{ orderId: 'o' }], nextCursor: 'c-2' } }),
    read: (text) => page('prediction', text),
  },
  { name: 'account order', answer: json(wholeAccountRow), read: (text) => row('account', 'snapshot', parseJson(text)) },
  {
    name: 'option order',
    answer: json({
      ...wholeAccountRow,
      securityType: 'MLEG',
      category: 'option',
      legs: [leg, { ...leg, side: 'SELL' }],
    }),
    read: (text) => row('account', 'stream', parseJson(text)),
  },
  {
    name: 'new account order',
    answer: json({ ...accountRow, stopPrice: '190' }),
    read: (text) => row('account', 'stream', parseJson(text)),
  },
  {
    name: 'prediction order on the stream',
    answer: rowText(wholePredictionRow, '7'),
    read: (text) => row('prediction', 'stream', parseJson(text)),
  },
  {
    name: 'prediction order of a list',
    answer: rowText(wholePredictionRow, '7'),
    read: (text) => row('prediction', 'snapshot', parseJson(text)),
  },
  { name: 'event', answer: eventText('account', 'acct-1', { ordId: 'o' }), read: frame },
  {
    name: 'subscribed',
    answer: json({
      type: 'subscribed',
      id: 's-1',
      timestamp: 't',
      payload: { topic: 'account', target: 'account:acct-1' },
    }),
    read: frame,
  },
  {
    name: 'stream error',
    answer: json({ type: 'error', id: 's-1', timestamp: 't', payload: { code: 'FORBIDDEN', message: 'no' } }),
    read: frame,
  },
  { name: 'heartbeat', answer: json({ type: 'heartbeat', timestamp: 't' }), read: frame },
  ...Object.entries(writes).map(
    ([name, { answer, status }]): WireSubject => ({
      name: `answer to ${name}`,
      answer,
      read: (text) => write(name, status, text),
    }),
  ),
  {
    name: 'answer to placeOrder that names its order by the id alone',
    answer: json({
      ...{ success: true, ordId: 'ord-1', clOrdId: null, accountId: 'acct-1', status: 'NEW' },
      ...{ symbol: 'AAPL', side: 'BUY', qty: '100' },
    }),
    read: (text) => write('placeOrder', 200, text),
  },
  { name: 'rejected place', answer: json(rejection), read: (text) => write('placeOrder', 200, text) },
  {
    name: 'refused place (400, flat)',
    answer: json({ error: 'no', codes: [{ code: 'BAD', description: 'bad' }], metadata: { a: 1 } }),
    read: (text) => write('placeOrder', 400, text),
  },
  {
    name: 'refused replace (400)',
    answer: nested('INVALID_ORDER', 'invalid_request'),
    read: (text) => write('replacePredictionOrder', 400, text),
  },
  {
    name: 'refused cancel (409)',
    answer: nested('ORDER_NOT_ACTIONABLE', 'conflict'),
    read: (text) => write('cancelPredictionOrder', 409, text),
  },
  {
    name: 'at capacity (429)',
    answer: nested('ORDER_ENTRY_AT_CAPACITY', 'rate_limit'),
    read: (text) => write('placePredictionOrder', 429, text),
  },
  {
    name: 'quotes',
    answer: json({
      s: 'ok',
      d: [
        {
          n: 'NASDAQ:AAPL',
          s: 'AAPL',
          v: {
            ask: 191.6,
            bid: 191.4,
            ch: 1,
            chp: 0.5,
            description: 'Apple',
            exchange: 'NASDAQ',
            lp: 191.5,
            volume: 10,
          },
        },
      ],
    }),
    read: async (text) => fetched(await readChartQuotes(readDeps(text), base, ['AAPL'], signal)),
  },
  {
    name: 'quotes of options',
    answer: json({
      status: 'OK',
      requestId: 'r',
      results: [{ askPrice: 2.1, askSize: 3, bidPrice: 2, bidSize: 4, sequenceNumber: 5, sipTimestamp: 1764170000000 }],
    }),
    read: async (text) => {
      const query = { ticker: 'O:AAPL261218C00200000' };
      for await (const each of readOptionsQuotes(readDeps(text), base, query, signal))
        return each.ok ? { word: 'read', facts: each.quotes } : { word: `no answer (${each.error.code})` };
      return { word: 'no page' };
    },
  },
  {
    name: 'previous day',
    answer: json({
      status: 'OK',
      ticker: 'KO',
      adjusted: true,
      resultsCount: 1,
      results: [{ T: 'KO', o: 1, h: 2, l: 1, c: 2, v: 9 }],
    }),
    read: async (text) => fetched(await readPreviousDay(readDeps(text), base, { ticker: 'KO' }, signal)),
  },
  {
    name: 'symbols',
    answer: json([{ symbol: 'KO', description: 'Coca-Cola', tag: 'US', type: 'stock' }]),
    read: async (text) => fetched(await searchSymbols(readDeps(text), base, new Secret('k'), { query: 'KO' }, signal)),
  },
  {
    name: 'ownership',
    answer: json({
      data: [{ name: 'n', share: 5, change: 1, filingDate: '2026-01-01', percentOfShares: 0.5, source: 's' }],
    }),
    read: async (text) => fetched(await readOwnership(readDeps(text), base, { symbol: 'KO' }, signal)),
  },
  {
    name: 'theme',
    answer: json({ theme: 'ai', data: [{ symbol: 'KO' }] }),
    read: async (text) => fetched(await readInvestmentTheme(readDeps(text), base, 'ai', signal)),
  },
  {
    name: 'calendar',
    answer: json({
      data: [{ fromDate: '2026-01-01 00:00:00', toDate: '2026-01-02 00:00:00', eventDescription: 'e', url: 'u' }],
    }),
    read: async (text) => fetched(await readFdaCalendar(readDeps(text), base, signal)),
  },
  {
    name: 'health',
    answer: json({ status: 'ok' }),
    read: async (text) => fetched(await readHealth({ http: answering(text) }, base, signal)),
  },
];
