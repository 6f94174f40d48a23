import { describe, expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { alpacaReads } from '../../../src/venue/alpaca/alpaca-reads.ts';
import { keyPairSource } from '../../../src/venue/alpaca/key-source.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { alpacaClient } from '../../support/platform/alpaca.ts';
import { control } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

/** Waits of the backoff are over at once. */
const hastyClock: Clock = { ...systemClock, sleep: () => systemClock.turn() };

function touchedAt(url: string, { keyId = 'PK1', secretKey = 'hush' } = {}) {
  const http = new UndiciHttp({ clock: systemClock });
  onTestFinished(() => http.close());
  const tokens = keyPairSource(systemClock, { keyId, secretKey: new Secret(secretKey) });
  const deps = { http, clock: hastyClock, random: seededRandom(1), tokens, metrics: createMetrics().platform };
  const { touchedOrders } = alpacaReads(deps, { url, isPaper: true });
  const about = { stream: 'alpaca_paper', accountId: 'acct-1' } as const;
  return async (after: string) => touchedOrders?.({ ...about, after }, new AbortController().signal);
}

describe('the orders that something happened to, at the emulator', () => {
  async function filled() {
    const client = await alpacaClient();
    const verb = (body: object) => control(client.at, `/orders/${id}`, body);
    const { id } = (await client.place({ client_order_id: 'tm-1' })).json;
    await eventually(async () => expect((await client.order(id)).status).toBe('new'));
    const before = (await client.order(id)).updated_at;
    await verb({ action: 'fill', quantity: '6', price: '187.25' });
    await verb({ action: 'cancel' });
    const touched = touchedAt(client.at.url, client.at.accounts[0]);
    return { ...client, id, verb, before, touched };
  }

  it('are those with fills, at the time of the last one', async () => {
    const { id, touched, before, order } = await filled();
    const { kind, orders } = (await touched(before)) as { kind: string; orders: { orderId: string; at: string }[] };
    expect([kind, orders]).toEqual(['read', [{ orderId: id, at: expect.any(String), cumQty: '6' }]]);
    const { updated_at, canceled_at } = await order(id);
    expect(Date.parse(orders[0]?.at ?? '')).toBeLessThanOrEqual(Date.parse(canceled_at));
    expect(await touched(updated_at)).toMatchObject({ kind: 'read', orders: [] });
  });

  it.each([
    ['a correction', '2', 'trade_correct'],
    ['a bust', '0', 'trade_bust'],
  ])('are those with %s, at its own time', async (_what, cumQty, execution) => {
    const { id, touched, verb, order, get, before } = await filled();
    const { updated_at: endedAt } = await order(id);
    await verb({ action: 'correct', cumQty });
    const { status, updated_at: at } = await order(id);
    expect(status).toBe('canceled');
    expect(await touched(endedAt)).toMatchObject({ kind: 'read', orders: [{ orderId: id, at, cumQty }] });
    const { text } = await get(`/v2beta1/events/activities?since=${before}&until=${at}`);
    const [trade, taken] = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? ''));
    expect(trade).toMatchObject({ activity_type: 'TRD', qty: '6', price: '187.25', details: { order_id: id } });
    expect(taken).toMatchObject({ previous_id: trade.ref_id, details: { execution_type: execution } });
    expect(taken.executed_at).toBe(trade.executed_at);
    expect([trade.event_id, taken.event_id].toSorted()).toEqual([trade.event_id, taken.event_id]);
  });

  it.each([
    ['until=2026-11-20T00:00:00Z', 'until requires since'],
    ['since=2026-11-20T00:00:00Z', 'without an end'],
    ['since=yesterday&until=2026-11-20T00:00:00Z', 'RFC 3339'],
    ['since=2026-11-20T00:00:00Z&since_id=01A&until_id=01B', 'together'],
    ['account_id=1', 'account_id'],
  ])('are refused for %s', async (query, why) => {
    const { get } = await alpacaClient();
    const { status, json: body } = await get(`/v2beta1/events/activities?${query}`);
    expect([status, body.message]).toEqual([422, expect.stringContaining(why)]);
  });

  it('are found again behind the id of an event', async () => {
    const { get, before, id } = await filled();
    const { text } = await get(`/v2beta1/events/activities?since=${before}&until=2099-01-01T00:00:00Z`);
    const eventId = /^id: (.*)$/m.exec(text)?.[1] ?? '';
    const last = 'Z'.repeat(26);
    expect((await get(`/v2beta1/events/activities?since_id=${'0'.repeat(26)}&until_id=${last}`)).text).toContain(id);
    expect((await get(`/v2beta1/events/activities?since_id=${eventId}&until_id=${last}`)).text).not.toContain(id);
  });
});

const now = '2026-11-20T14:30:00.5-05:00';
const since = '2026-11-20T14:30:00Z';

/** A venue with this time, and these answers to one list of activities after the other. */
async function scripted(...answers: (string | number)[]) {
  const asked: { path: string; accept: string | undefined }[] = [];
  const server = await scriptedServer((request, response) => {
    if (request.path === '/v2/clock') return json(response, 200, { timestamp: now });
    asked.push({ path: decodeURIComponent(request.path), accept: request.headers.accept });
    const answer = answers[asked.length - 1] ?? ': connected\n\n';
    if (typeof answer === 'number') return json(response, answer, { code: answer * 100_000, message: 'no' });
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer);
  });
  onTestFinished(() => server.close());
  return { asked, touched: touchedAt(server.url) };
}

function event(details: object, more: object = {}): string {
  const times = { at: '2026-11-20T15:00:00.7Z', executed_at: '2026-11-20T15:00:00.5Z' };
  return `id: 01K\ndata: ${JSON.stringify({ activity_type: 'TRD', ...times, ...more, details })}\n\n`;
}

const busyDay = event({ order_id: 'o-1', execution_type: 'fill' }).repeat(500);

describe('issue: An audit never ended for an account with its last order months ago: a request a day.', () => {
  it.each([
    ['a year', '2025-11-20T14:30:00Z', 9],
    ['twenty centuries', '0026-11-20T14:30:00Z', 20],
  ])('reads %s without activities by few requests', async (_what, after, requests) => {
    const { asked, touched } = await scripted();
    expect(await touched(after)).toMatchObject({ kind: 'read', orders: [], upTo: now });
    expect(asked).toHaveLength(requests);
  });
});

describe('the activities', () => {
  it('are read a day at a time, up to the time of the venue: behind it an answer would wait', async () => {
    const { asked, touched } = await scripted(busyDay, busyDay);
    expect(await touched('2026-11-18T14:30:00Z')).toMatchObject({ kind: 'read', upTo: now });
    expect(asked).toEqual(
      [
        'since=2026-11-18T14:30:00Z&until=2026-11-19T14:30:00.000Z',
        'since=2026-11-19T14:30:00.000Z&until=2026-11-20T14:30:00.000Z',
        `since=2026-11-20T14:30:00.000Z&until=${now}`,
      ].map((query) => ({ path: `/v2beta1/events/activities?${query}`, accept: 'text/event-stream' })),
    );
    expect(await touched('2099-01-01T00:00:00Z')).toMatchObject({ kind: 'read', orders: [] });
    expect(asked).toHaveLength(3);
  });

  it('name each order once: a trade by its time, what takes it back by the time of its event', async () => {
    const { touched } = await scripted(
      `: heartbeat\n\n${[
        event({ order_id: 'o-1', execution_type: 'partial_fill', cum_qty: '4.0' }),
        event({ order_id: 'o-2', execution_type: 'fill', cum_qty: '10' }),
        event({ order_id: 'o-1', execution_type: 'trade_bust', cum_qty: '0' }, { at: '2026-11-20T16:00:00Z' }),
        event({ order_id: 'o-3', execution_type: 'reversed' }, { at: 'soon' }),
        event({ symbol: 'KO' }, { activity_type: 'DIV' }),
        'data: {"activity_type":"FEE",\r\ndata: "details":null}\r\n\r\n',
      ].join('')}`,
    );
    expect(await touched(since)).toEqual({
      kind: 'read',
      orders: [
        { orderId: 'o-1', at: '2026-11-20T16:00:00Z', cumQty: '0' },
        { orderId: 'o-2', at: '2026-11-20T15:00:00.5Z', cumQty: '10' },
        { orderId: 'o-3', at: now },
      ],
      upTo: now,
    });
  });

  const whole = event({ order_id: 'o-1', execution_type: 'fill' });
  it.each([
    ['with messages dropped', `${whole}: you are reading too slowly, dropped 10000 messages\n\n`],
    ['that the server gave up', `${whole}: internal server error\n\n`],
    ['cut in an event', whole.slice(0, 40)],
    ['cut before the end of an event', whole.slice(0, -1)],
    ['with an event that is no JSON', 'data: {"a":\n\n'],
    ['that is a page', '<html>hello</html>'],
  ])('are not complete in an answer %s', async (_what, text) => {
    const { touched } = await scripted(text);
    expect(await touched(since)).toMatchObject({ kind: 'failed', error: { code: 'BAD_ANSWER' } });
  });

  it.each([403, 404])('are withheld by a venue that answers %i', async (status) => {
    const { touched } = await scripted(status);
    expect(await touched(since)).toEqual({ kind: 'absent' });
  });

  it('are not read where the venue answers 422', async () => {
    const { touched } = await scripted(422);
    expect(await touched(since)).toMatchObject({ kind: 'failed', error: { retryable: false } });
  });
});

describe('issue: A key was refused for all, since activities answered 401 to it and the orders did not.', () => {
  it('is withheld from the activities, and good for the rest', async () => {
    const { touched } = await scripted(401, 401);
    expect(await touched(since)).toEqual({ kind: 'absent' });
    expect(await touched(since)).toMatchObject({ kind: 'read' });
  });
});

describe('issue: An activity without an order left an open order out of reach in the status for good.', () => {
  it.each(['', ' ', 'a/../b'])('an activity of the order %j names none', async (order_id) => {
    const { touched } = await scripted(event({ order_id, execution_type: 'fill' }));
    expect(await touched(since)).toMatchObject({ kind: 'read', orders: [] });
  });
});
