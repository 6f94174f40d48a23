import { describe, expect, it } from 'vitest';
import { emptyFields } from '../../src/console/state/commands/ticket-body.ts';
import { OrderPreview } from '../../src/console/state/order-preview.ts';
import { crossingOf, questionOf } from '../../src/console/state/ticket-preview.ts';
import { ConsoleRig } from '../support/rest/console-rig.ts';

const said = {
  ...{ stream: 'account', accountId: 'ACC-1', terms: {}, value: '5.5', quotes: [], limits: [], refusals: [] },
  at: '2026-11-21T14:30:00.000Z',
};
const route = 'POST /v1/orders/preview';

async function started() {
  const rig = new ConsoleRig();
  await rig.state.start();
  await rig.settle();
  rig.answers.set(route, { status: 200, body: said });
  const preview = new OrderPreview(rig.state);
  const asked = () => rig.asked.filter(({ method }) => method === 'POST');
  return { rig, preview, asked };
}

const fields = { ...emptyFields(), accountId: 'ACC-1', symbol: 'AAPL', side: 'SELL', quantity: '5', price: '1.10' };

describe('what a ticket comes to', () => {
  it('is asked for once a reader pauses, by previews alone, and again while the ticket is looked at', async () => {
    const { rig, preview, asked } = await started();
    void preview.ask(questionOf({ ...fields, symbol: '' }));
    await rig.pass(10_000);
    expect(asked()).toEqual([]);
    for (const quantity of ['5', '50', '500']) {
      void preview.ask(questionOf({ ...fields, quantity }));
      await rig.pass(100);
    }
    await rig.pass(400);
    expect(asked().map(({ path, body }) => [path, (body as { qty: string }).qty])).toEqual([
      ['/v1/orders/preview', '500'],
    ]);
    expect(asked().map(({ headers }) => headers['idempotency-key'])).toEqual([undefined]);
    expect(preview.state.value).toMatchObject({ said, isWhole: true, isOld: false });
    await rig.pass(5_000);
    expect(asked()).toHaveLength(2);
    preview.close();
    await rig.pass(60_000);
    expect(asked()).toHaveLength(2);
  });

  it('is marked as old while fields change, and says why there is no newer answer', async () => {
    const { rig, preview } = await started();
    void preview.ask(questionOf(fields));
    await rig.pass(400);
    void preview.ask(questionOf({ ...fields, quantity: '6' }));
    expect(preview.state.value).toMatchObject({ said, isOld: true });
    rig.answers.set(route, {
      status: 503,
      body: { code: 'STORE_UNAVAILABLE', detail: 'the database could not be reached' },
    });
    await rig.pass(400);
    expect(preview.state.value).toMatchObject({
      said,
      isOld: true,
      note: expect.stringContaining('STORE_UNAVAILABLE'),
    });
    preview.close();
  });

  it('has the quotes alone while a field is empty, and says no fault of what the reader did not choose', async () => {
    const { rig, preview, asked } = await started();
    void preview.ask(questionOf({ ...fields, side: '', quantity: '', price: '' }));
    await rig.pass(400);
    expect(asked().map(({ path, body }) => [path, body])).toEqual([
      [
        '/v1/orders/preview',
        { accountId: 'ACC-1', symbol: 'AAPL', side: 'BUY', type: 'MARKET', qty: '1', timeInForce: 'DAY' },
      ],
    ]);
    expect(preview.state.value).toMatchObject({ said, isWhole: false });
    rig.answers.set(route, { status: 400, body: { code: 'INVALID_ORDER', detail: 'no', faults: [{ path: 'type' }] } });
    await rig.pass(5_000);
    expect(preview.state.value).toEqual({ isOld: false });
    void preview.ask(questionOf({ ...emptyFields('prediction'), accountId: 'ACC-1', symbol: 'RAIN-26' }));
    await rig.pass(60_000);
    expect(asked()).toHaveLength(2);
  });

  it('names the faults of the fields, and asks no more about them', async () => {
    const { rig, preview, asked } = await started();
    const faults = [{ path: 'qty', message: 'must be greater than zero' }];
    rig.answers.set(route, { status: 400, body: { code: 'INVALID_ORDER', detail: 'no', faults } });
    void preview.ask(questionOf({ ...fields, quantity: '0' }));
    await rig.pass(60_000);
    expect(preview.state.value).toEqual({
      isOld: false,
      faults: new Map([['quantity', 'must be greater than zero']]),
      note: 'Look at the fields that are marked.',
    });
    expect(asked()).toHaveLength(1);
  });
});

describe('issue: A ticket did not say that its price crosses the market, and looked as any other.', () => {
  const quotes = [
    { kind: 'equity', symbol: 'KO', bid: '64', ask: '64.1', last: '70', ageMs: 3_000 },
    { kind: 'option', symbol: 'AAPL261218C00200000', bid: '1.5', ask: '1.6', ageMs: 3_000 },
  ] as const;
  const of = (over: Partial<typeof fields>) => crossingOf({ ...fields, symbol: ' ko', ...over }, [...quotes]);

  it.each([
    ['BUY', '64.09', undefined],
    ['BUY', '64.10', 'ask'],
    ['BUY_TO_COVER', ' 65 ', 'ask'],
    ['SELL', '64.01', undefined],
    ['SELL', '64.0', 'bid'],
    ['SELL_SHORT', '63', 'bid'],
  ])('a limit does, where it is at the other side of the quote or beyond: %s at %s', (side, price, met) => {
    expect(of({ side, price })?.side).toBe(met);
  });

  it.each([
    ['BUY', '64.2', undefined],
    ['BUY', '64.1', 'ask'],
    ['SELL', '63.9', undefined],
    ['SELL', '64', 'bid'],
  ])('a stop is triggered at once, where the market is there already: %s at %s', (side, stopPrice, met) => {
    for (const type of ['STOP', 'STOP_LIMIT']) expect(of({ side, type, stopPrice, price: '64' })?.side).toBe(met);
  });

  it('goes by the quote of the contract, and says nothing where there is none to compare with', () => {
    const leg = { symbol: 'O:AAPL261218C00200000', side: 'SELL', ratioQty: '1', positionEffect: 'OPEN' };
    const option = { kind: 'option', side: '', price: '1.5', symbol: 'AAPL' } as const;
    const contract = { ...leg, symbol: 'AAPL  261218C00200000' };
    expect(of({ ...option, legs: [contract] })).toMatchObject({ own: '1.5', market: '1.5', side: 'bid' });
    expect(of({ ...option, legs: [contract, contract] })).toBeUndefined();
    for (const over of [{ side: '' }, { symbol: 'KOF' }, { price: '1e3' }, { price: '' }, { type: 'MARKET' }])
      expect(of({ side: 'BUY', price: '65', ...over })).toBeUndefined();
    expect(crossingOf({ ...fields, kind: 'prediction', side: 'buy', price: '0.99' }, [])).toBeUndefined();
  });
});
