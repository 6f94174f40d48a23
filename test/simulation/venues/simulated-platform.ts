import { Secret } from '../../../src/runtime/secret.ts';
import type { Stream } from '../../../src/sandbox/exchange/exchange-order.ts';
import { getOrder, listOrders, readListQuery } from '../../../src/sandbox/rest/order-routes.ts';
import { platformWords } from '../../../src/sandbox/stream/client-message.ts';
import type { HttpRequest, HttpResult } from '../../../src/venue/http.ts';
import { platformReads } from '../../../src/venue/platform/platform-reads.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import { ordersPath, predictionOrdersPath } from '../../../src/venue/platform/wire/order-pages.ts';
import { accountsPath } from '../../../src/venue/platform/wire/user.ts';
import { platformEntry } from '../../support/commands/platform-entry.ts';
import { expectedOrder } from '../oracles/expected-order.ts';
import { platformSpoils } from '../plan/garbage.ts';
import { surprises } from '../surprises.ts';
import { understandWrite } from '../understand-write.ts';
import { HostTokens } from '../world/memory-tokens.ts';
import { refusal, spoiledAnswer, unauthorized } from '../write-answers.ts';
import type { AskedRead, Showing, SimulatedReads, SimulatedStream, SimulatedVenue } from './simulated-venue.ts';

const foreignAccount = 'acct-foreign';

/** No replay, no sequence number (docs/platform-assumptions.md, "Order stream"). */
const stream: SimulatedStream = {
  heartbeat: '{"type":"heartbeat","timestamp":"2026-01-05T14:30:00Z"}',
  endsSubscriptions: false,
  admits: ({ token }, tokens) => tokens.isGood(token),
  isGood: ({ token }, tokens) => tokens.isGood(token),
  asked: (_socket, text, { account }) => {
    const { type, id, payload } = JSON.parse(text) as {
      type: string;
      id: string;
      payload: { topic: string; target: string };
    };
    const accountId = payload.target.slice('account:'.length);
    const name = `${payload.topic}:${accountId}`;
    if (type === 'unsubscribe') return { leaves: name, answer: JSON.stringify({ type: 'unsubscribed', id, payload }) };
    const found = account(accountId);
    if (found === undefined || (payload.topic === 'prediction' && !found.predictions))
      return { answer: JSON.stringify({ type: 'error', id, payload: { code: 'FORBIDDEN', message: 'not enrolled' } }) };
    return { joins: name, answer: JSON.stringify({ type: 'subscribed', id, payload }) };
  },
  declined: () => undefined,
  intrude: (socket, _name, text) =>
    socket.push(text.replace(/"target":"[^"]*"/, `"target":"account:${foreignAccount}"`)),
  expel: (socket) => socket.endBy({ kind: 'closed', code: 4401, reason: 'token' }, false),
  spoils: platformSpoils,
};

const names = {
  account: { reference: 'clOrdId', state: 'status' },
  prediction: { reference: 'clientOrderRef', state: 'state' },
} as const;

/** Accounts, both lists, both gets. */
const reads: SimulatedReads = {
  answer,
  busy: () => reply(503, '{"error":{"type":"unavailable","code":"BUSY","message":"busy"}}'),
  garbled: () => reply(200, '<html>hello</html>'),
  asked: ({ url }) => askedOf(new URL(url)),
  page: (_asked, page) => {
    if (page.kind !== 'answered' || page.status !== 200 || !page.text.includes('"orders"')) return undefined;
    return { next: /"nextCursor":"([^"]*)"/.exec(page.text)?.[1] };
  },
};

function askedOf({ pathname, searchParams }: URL): AskedRead | undefined {
  const path = [predictionOrdersPath, ordersPath].find((each) => pathname === each || pathname.startsWith(`${each}/`));
  if (path === undefined) return undefined;
  const of: Stream = path === ordersPath ? 'account' : 'prediction';
  const query = readListQuery(Object.fromEntries(searchParams), names[of]);
  const { reference = undefined, state = 'all' } = 'fault' in query ? {} : query;
  const [cursor, after] = [searchParams.get('cursor') ?? undefined, searchParams.get('updatedAfter') ?? undefined];
  searchParams.delete('cursor');
  const orderId = pathname === path ? undefined : decodeURIComponent(pathname.slice(path.length + 1));
  return {
    ...{ stream: of, accountId: searchParams.get('accountId') ?? '', state, cursor },
    ...(reference !== undefined && { reference }),
    ...(after !== undefined && { after }),
    ...(orderId !== undefined && { orderId }),
    list: `${pathname}?${searchParams}`,
  };
}

function answer({ url, headers }: HttpRequest, showing: Showing): HttpResult {
  const { exchange, tokens, pageSize, lagMs } = showing;
  if (!tokens.isGood(bearerOf(headers))) return failure(401, 'UNAUTHORIZED');
  const { pathname, searchParams } = new URL(url);
  if (pathname === accountsPath) return reply(200, accounts(showing));
  const of: Stream = pathname.startsWith(predictionOrdersPath) ? 'prediction' : 'account';
  const account = exchange.accounts.get(searchParams.get('accountId') ?? '');
  if (account === undefined || (of === 'prediction' && !account.predictions)) return failure(403, 'FORBIDDEN');
  const path = of === 'prediction' ? predictionOrdersPath : ordersPath;
  const shownMs = lagMs(account.id);
  if (pathname !== path) {
    const row = getOrder({ exchange }, account, of, decodeURIComponent(pathname.slice(path.length + 1)), shownMs);
    return row === undefined ? failure(404, 'NOT_FOUND') : reply(200, wrapped(of, row));
  }
  const query = readListQuery(Object.fromEntries(searchParams), names[of]);
  if ('fault' in query) return failure(400, query.fault);
  const limit = Math.min(query.limit, pageSize);
  return reply(200, wrapped(of, listOrders({ exchange }, account, of, { ...query, limit }, shownMs)));
}

function accounts({ exchange, unlisted }: Showing): string {
  const listed = [...exchange.accounts.values()].filter(({ id, traded }) => traded && !unlisted.has(id));
  return JSON.stringify({
    accounts: listed.map(({ id, status }) => ({ trading_account_id: id, status, is_sim: true })),
  });
}

function bearerOf(headers: HttpRequest['headers']): string {
  const credential = headers['authorization'];
  return credential instanceof Secret ? credential.reveal().slice('Bearer '.length) : '';
}

function reply(status: number, text: string): HttpResult {
  return { kind: 'answered', status, headers: {}, text };
}

function failure(status: number, code: string): HttpResult {
  return reply(status, JSON.stringify({ error: { type: 'any', code, message: code } }));
}

function wrapped(of: Stream, row: string): string {
  return of === 'prediction' ? `{"success":true,"data":${row}}` : row;
}

const addresses = { platformUrl: 'http://platform', stagingUrl: 'http://staging' };
const login = 'client';

/** The platform of the specification. */
export const simulatedPlatform: SimulatedVenue = {
  name: 'platform',
  streamOf: (of) => of,
  words: platformWords,
  market: {},
  answersEveryOrder: false,
  changed: () => undefined,
  knowsSymbols: false,
  hasPredictions: true,
  hasKeys: false,
  listsAccounts: true,
  formerAccount: undefined,
  stream,
  reads,
  entry: {
    isGood: ({ headers }, tokens) => tokens.isGood(bearerOf(headers)),
    unauthorized,
    understand: understandWrite,
    refusal,
    spoiled: (random, asked, { body, other }) => spoiledAnswer(random, asked.stream, body, other),
  },
  surprises,
  expected: expectedOrder,
  venue: platformVenue,
  streamUrls: { account: 'ws://account', prediction: 'ws://prediction' },
  credentials: ({ host, world, tokens }) => {
    const own = new HostTokens({ host, world, tokens });
    return { logins: new Map([[login, own]]), renewAhead: () => own.renewAhead() };
  },
  loginOf: () => login,
  orderReads: (deps) => platformReads(deps, addresses),
  orderEntry: (deps) => platformEntry(deps, addresses),
};
