import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { type OrderView, orderStatuses } from '../../../src/domain/order.ts';
import { alpacaVenue } from '../../../src/venue/alpaca/alpaca-venue.ts';
import { judgeAlpacaWrite, prepareAlpacaWrite } from '../../../src/venue/alpaca/alpaca-writes.ts';
import { type Reading, readAs, readingOfFrame, readingOfRow } from '../../../src/venue/check/reading.ts';
import { AlpacaStreamClient } from '../../sandbox/alpaca/alpaca-stream-client.ts';
import { fold, observe } from '../../support/orders/observe.ts';
import { alpacaClient } from '../../support/platform/alpaca.ts';
import { control } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

const stream = 'alpaca_paper';

function viewOf(reading: Reading): OrderView {
  if (reading.kind !== 'order') throw new Error(readAs(reading));
  return reading.decoded.view;
}

const rowView = (row: unknown, accountId: string) =>
  viewOf(readingOfRow(alpacaVenue, row, { stream, accountId, isEvent: false }));

const statuses = orderStatuses.filter((status) => status !== 'unknown');

interface Row {
  readonly id: string;
  readonly submitted_at: string;
}

/** All orders, in pages of 500. */
async function allRows(get: (path: string) => Promise<{ json: unknown }>): Promise<Row[]> {
  const rows: Row[] = [];
  for (;;) {
    const after = rows.at(-1)?.submitted_at;
    const query = after === undefined ? '' : `&after=${after}`;
    const page = (await get(`/v2/orders?status=all&direction=asc&limit=500${query}`)).json as Row[];
    rows.push(...page);
    if (page.length < 500) return rows;
  }
}

type Life = { readonly events: OrderView[] };

/** By order, what the frames showed. */
function livesIn(texts: readonly string[], accountId: string): Map<string, Life> {
  const lives = new Map<string, Life>();
  for (const text of texts) {
    const reading = readingOfFrame(alpacaVenue, stream, accountId, text);
    if (reading.kind === 'control') continue;
    const { id } = JSON.parse(text).data.order as { id: string };
    const life: Life = lives.get(id) ?? { events: [] };
    lives.set(id, life);
    life.events.push(viewOf(reading));
  }
  return lives;
}

describe('the emulator of Alpaca', () => {
  it('sends no frame that can not be read, and the state after all of them is that of its list', async () => {
    const { at, get, place } = await alpacaClient({
      ...{ market: { openOrders: 400 }, venue: { answerMs: 1 }, alpaca: { requestsPerMinute: 10_000 } },
    });
    const client = await AlpacaStreamClient.listening(at);
    const accountId = (await get('/v2/account')).json.id as string;
    await place({ order_class: 'bracket', take_profit: { limit_price: '230' }, stop_loss: { stop_price: '180' } });
    await place({ qty: '1.25', type: 'market', limit_price: undefined });
    const money = (await place({ qty: undefined, notional: '50', type: 'market', limit_price: undefined })).json.id;
    await control(at, '/burst', { count: 6000 });
    const lives = await eventually(async () => {
      const all = livesIn(client.texts, accountId);
      expect(all.size).toBeGreaterThan(300);
      const rows = new Map((await allRows(get)).map((row) => [row.id, row]));
      for (const [id, { events }] of all) expect(events.at(-1)).toEqual(rowView(rows.get(id), accountId));
      const filled = { status: 'filled', quantity: undefined, notional: '50', leavesQty: '0' };
      expect(all.get(money)?.events.at(-1)).toMatchObject(filled);
      const shown = [...all.values()].flatMap(({ events }) => events);
      expect(shown.map(({ status }) => status)).toEqual(expect.arrayContaining(statuses));
      expect(shown.map(({ pendingAction }) => pendingAction)).toEqual(expect.arrayContaining(['cancel', 'replace']));
      expect(new Set(shown.map(({ instrument }) => instrument.kind))).toEqual(new Set(['equity', 'option']));
      return all;
    });
    for (const { events } of lives.values()) {
      const { order } = fold(events.map((view) => observe(view))).head;
      const { status, cumQty, leavesQty, price, quantity, updatedAt } = events.at(-1) ?? order;
      expect(order).toMatchObject({ status, cumQty, leavesQty, price, quantity, updatedAt });
      expect(order.conflict).toBeUndefined();
    }
  });

  it('answers our writes as they are judged', async () => {
    const { send, get } = await alpacaClient({ venue: { orderLimit: '100000' } });
    const accountId = (await get('/v2/account')).json.id as string;
    const write = async (request: CommandRequest, attemptId: string) => {
      const prepared = prepareAlpacaWrite(request, attemptId);
      if ('kind' in prepared) throw new Error(`nothing was sent: ${prepared.kind}`);
      const { status, text } = await send(prepared.method, prepared.path, prepared.body);
      return judgeAlpacaWrite(request, attemptId, { kind: 'answered', status, headers: {}, text });
    };
    const terms = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'DAY', price: '187.5' };
    const place = (attemptId: string, over: object = {}) =>
      write({ kind: 'place', stream, accountId, terms: { ...terms, ...over } }, attemptId);
    const cancel = (orderId: string) => write({ kind: 'cancel', stream, accountId, orderId }, 'tm-9');
    const placed = await place('tm-1');
    expect(placed).toMatchObject({ kind: 'accepted', answer: { client_order_id: 'tm-1', limit_price: '187.5' } });
    const { orderId, clOrdId } = rowView('order' in placed ? placed.order : undefined, accountId);
    expect(clOrdId).toBe('tm-1');
    expect(await place('tm-1')).toMatchObject({ kind: 'unknown', reason: { code: '40010001' } });
    expect(await place('tm-2', { symbol: 'NONE' })).toMatchObject({ kind: 'refused', reason: { status: 422 } });
    expect(await place('tm-3', { qty: '1000' })).toMatchObject({ kind: 'refused', reason: { code: '40310000' } });
    expect(await cancel(orderId)).toEqual({ kind: 'accepted', answer: {} });
    await eventually(async () => expect((await get(`/v2/orders/${orderId}`)).json.status).toBe('canceled'));
    expect(await cancel(orderId)).toMatchObject({ kind: 'refused', reason: { code: '42210000', status: 422 } });
    expect(await cancel('nothing')).toMatchObject({ kind: 'refused', reason: { code: '40410000', status: 404 } });
  });
});
