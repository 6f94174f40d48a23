import { describe, expect, it, onTestFinished } from 'vitest';
import { cove, coveOrders, coveReads, coveVenue, judgeCoveWrite, writeCoveOrder } from '../../docs/venues/cove.ts';
import { underCheck } from '../../docs/venues/cove-check.ts';
import type { OrderView } from '../../src/domain/order.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';
import { checkVenue } from '../../src/venue/check/check-venue.ts';
import type { VenueUnderCheck } from '../../src/venue/check/fixtures.ts';
import type { HttpResult } from '../../src/venue/http.ts';
import { KeySource, keyOfPair } from '../../src/venue/key-source.ts';
import { SocketWriteLines } from '../../src/venue/platform/socket-write-lines.ts';
import { UndiciHttp } from '../../src/venue/platform/undici-http.ts';
import { type OrderDecoder, type StreamProtocol, streamOf } from '../../src/venue/venue.ts';
import { json, scriptedServer } from '../support/servers/http-server.ts';

const checked = (under: VenueUnderCheck) => [...checkVenue(under, seededRandom(1))];

it('the made-up venue of the page keeps the contract', () => {
  const checks = checked(underCheck);
  expect(checks.filter(({ missing }) => missing !== undefined)).toEqual([]);
  expect(new Set(checks.map(({ part }) => part)).size).toBe(6);
});

const { protocol } = streamOf(coveVenue, cove);
const withOrders = (orders: Partial<OrderDecoder>): VenueUnderCheck => ({
  ...underCheck,
  venue: { [cove]: { orders: { ...coveOrders, ...orders }, protocol } },
});
const showing = (change: (view: OrderView, found: (field: string) => unknown) => Partial<OrderView>) =>
  withOrders({
    decode: (row, origin) => {
      const { view } = coveOrders.decode(row, origin);
      return { view: { ...view, ...change(view, (field) => row.found(field)) } };
    },
  });
const reading = (read: StreamProtocol['read']): VenueUnderCheck => ({
  ...underCheck,
  venue: { [cove]: { orders: coveOrders, protocol: { ...protocol, read } } },
});
const judging = (judge: (observed: HttpResult) => ReturnType<typeof judgeCoveWrite> | undefined): VenueUnderCheck => ({
  ...underCheck,
  judgeWrite: (request, attemptId, observed) => judge(observed) ?? judgeCoveWrite(request, attemptId, observed),
});
const reason = { code: 'X', message: 'no' };
const { [cove]: recorded = [] as never } = underCheck.streams;

describe('the check names what is missing when a stranger', () => {
  it.each<[string, VenueUnderCheck, RegExp]>([
    [
      'forgets a word',
      showing(({ statusRaw }) => (statusRaw === 'halted' ? { status: 'unknown' } : {})),
      /^words cove, HALTED: it is unknown, and not suspended$/,
    ],
    [
      'leaves a decimal as it came',
      showing((_view, found) => ({ price: found('limit') as string })),
      /^rows cove, a whole order: price is "191.50", and not a canonical decimal$/,
    ],
    [
      'reads a field without the reader',
      showing((_view, found) => ({ side: (found('dir') as string).toLowerCase() })),
      /^hostile cove, a whole order: without dir: the row throws: /,
    ],
    [
      'takes the time of arrival for that of the change',
      showing(() => ({ updatedAt: '2026-11-20T00:00:00Z' })),
      /^lives cove, halted, and live again: its end has another status: "suspended" in place of "new"$/,
    ],
    [
      'forgets that rows name an account',
      withOrders({ names: { orderId: 'no', status: 'state' } }),
      /^frames cove, a row of another account: it is read as an order, and not unreadable \(foreign\)$/,
    ],
    [
      'parses without a guard',
      reading((text) => (text.startsWith('{') && text.endsWith('}') ? protocol.read(text) : JSON.parse(text))),
      /^hostile cove, a new order: cut after 0 characters: the frame throws: /,
    ],
    [
      'sends again after 504',
      judging((observed) =>
        observed.kind === 'answered' && observed.status === 504
          ? { kind: 'not_sent', reason, mayRepeat: true }
          : undefined,
      ),
      /^writes place, any other 504: 504 with no body: a second write may follow$/,
    ],
    [
      'takes any 200 for an order',
      judging((observed) =>
        observed.kind === 'answered' && observed.status === 200 ? { kind: 'accepted', answer: {} } : undefined,
      ),
      /^writes place, a success without an order: 200 with \{\}: it is accepted, and unknown is all that is proved$/,
    ],
    [
      'records no end',
      {
        ...underCheck,
        streams: { [cove]: { ...recorded, words: { ...recorded.words, statuses: { LIVE: ['new'] } }, lives: {} } },
      },
      /^words cove, a word for filled: none is recorded$/,
    ],
    ['has no fixtures', { ...underCheck, streams: {} }, /^frames cove, fixtures: none are recorded$/],
    [
      'has no row of the stream',
      { ...underCheck, venue: { ...coveVenue, ['cove_paper' as typeof cove]: coveVenue[cove] } },
      /^frames cove_paper, its row in domain\/streams\.ts: there is none$/,
    ],
  ])('%s', (_what, under, line) => {
    const lines = checked(under).flatMap(({ part, name, missing }) => (missing ? [`${part} ${name}: ${missing}`] : []));
    expect(lines).toContainEqual(expect.stringMatching(line));
  });
});

describe('the REST of the made-up venue', () => {
  const signal = new AbortController().signal;
  const accountId = 'C-17';
  const row = { no: 8100412, acct: accountId, ref: 'ref-1' };
  const terms = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '1', timeInForce: 'DAY', price: '2' };
  const place = { kind: 'place', stream: cove, accountId, terms } as const;

  async function served(answer: Parameters<typeof scriptedServer>[0]) {
    const server = await scriptedServer(answer);
    onTestFinished(() => server.close());
    const http = new UndiciHttp({ clock: systemClock });
    onTestFinished(() => http.close());
    const clock = { ...systemClock, nowMs: () => 1_795_184_701_999 };
    const tokens = new KeySource(clock, keyOfPair({ keyId: 'K1', secretKey: new Secret('hu:sh') }), 'make a new key');
    const deps = { clock, tokens, http, random: seededRandom(1), metrics: createMetrics().platform };
    const options = { mayWrite: async () => true, mayStillWrite: () => true, signal };
    const write = () =>
      writeCoveOrder({ ...deps, lines: new SocketWriteLines({ clock }) }, { url: server.url }, place, 'ref-1', options);
    return { server, reads: coveReads(deps, server.url), write };
  }
  const signed = { 'cove-key': 'K1', 'cove-secret': 'hu:sh' };

  it('reads all pages, signed', async () => {
    const { server, reads } = await served((_request, response, count) =>
      json(response, 200, { rows: [row], ...(count === 1 && { more: 'p2' }) }),
    );
    const list = { stream: cove, accountId, state: 'open', after: '2026-11-20T14:25:01.5Z' } as const;
    const result = await reads.listOrders(list, async () => undefined, signal);
    expect(result).toEqual({ complete: true, rows: 2 });
    const paths = [
      '/orders?acct=C-17&open=true&since=1795184701',
      '/orders?acct=C-17&open=true&since=1795184701&from=p2',
    ];
    expect(server.received.map(({ path }) => path)).toEqual(paths);
    for (const { headers } of server.received) expect(headers).toMatchObject(signed);
  });

  it('tells an absent order from a failed read, and a list that never ends from a complete one', async () => {
    const absent = await served((_request, response) => json(response, 404, { why: 'NONE' }));
    expect(await absent.reads.getOrder(cove, accountId, '1', signal)).toEqual({ kind: 'absent' });
    const circle = await served((_request, response) => json(response, 200, { rows: [], more: 'p' }));
    expect(
      await circle.reads.listOrders({ stream: cove, accountId, state: 'all' }, async () => undefined, signal),
    ).toMatchObject({ complete: false, error: { code: 'LOOP' } });
  });

  it('sends an order once, signed', async () => {
    const { server, write } = await served((_request, response) => json(response, 201, row));
    expect(await write()).toMatchObject({ kind: 'accepted', answer: { no: '8100412' } });
    const [sent] = server.received;
    expect(server.received).toHaveLength(1);
    expect(sent).toMatchObject({ method: 'POST', path: '/orders', headers: signed });
    expect(JSON.parse(sent?.body ?? '')).toEqual({
      ...{ acct: accountId, ref: 'ref-1', sym: 'AAPL', dir: 'B', kind: 'LMT', life: 'DAY', size: '1', limit: '2' },
    });
  });
});
