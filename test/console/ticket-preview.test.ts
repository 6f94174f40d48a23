import { describe, expect, it } from 'vitest';
import { emptyFields } from '../../src/console/state/commands/ticket-body.ts';
import { TicketPreview } from '../../src/console/state/ticket-preview.ts';
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
  const preview = new TicketPreview(rig.state);
  const asked = () => rig.asked.filter(({ method }) => method === 'POST');
  return { rig, preview, asked };
}

const fields = { ...emptyFields(), accountId: 'ACC-1', symbol: 'AAPL', side: 'SELL', quantity: '5', price: '1.10' };

describe('what a ticket comes to', () => {
  it('is asked for once a reader pauses, by previews alone, and again while the ticket is looked at', async () => {
    const { rig, preview, asked } = await started();
    void preview.ask({ ...fields, symbol: '' });
    await rig.pass(10_000);
    expect(asked()).toEqual([]);
    for (const quantity of ['5', '50', '500']) {
      void preview.ask({ ...fields, quantity });
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
    void preview.ask(fields);
    await rig.pass(400);
    void preview.ask({ ...fields, quantity: '6' });
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
    void preview.ask({ ...fields, side: '', quantity: '', price: '' });
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
    void preview.ask({ ...emptyFields('prediction'), accountId: 'ACC-1', symbol: 'RAIN-26' });
    await rig.pass(60_000);
    expect(asked()).toHaveLength(2);
  });

  it('names the faults of the fields, and asks no more about them', async () => {
    const { rig, preview, asked } = await started();
    const faults = [{ path: 'qty', message: 'must be greater than zero' }];
    rig.answers.set(route, { status: 400, body: { code: 'INVALID_ORDER', detail: 'no', faults } });
    void preview.ask({ ...fields, quantity: '0' });
    await rig.pass(60_000);
    expect(preview.state.value).toEqual({ isOld: false, note: 'qty must be greater than zero.' });
    expect(asked()).toHaveLength(1);
  });
});
