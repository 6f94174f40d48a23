import { describe, expect, it } from 'vitest';
import { changedTerms, OrderAction, orderActions } from '../../src/console/state/commands/order-actions.ts';
import { prefilledBy } from '../../src/console/state/commands/ticket.ts';
import {
  accountOf,
  accountsFor,
  emptyFields,
  faultsIn,
  fieldsOf,
  namedStream,
  requestOf,
} from '../../src/console/state/commands/ticket-body.ts';
import { OrderPreview } from '../../src/console/state/order-preview.ts';
import { changesBetween } from '../../src/console/state/orders/version-ladder.ts';
import type { PlaceAccountBody } from '../../src/contract/command-bodies.ts';
import { ConsoleRig, listedOf, updateOf } from '../support/rest/console-rig.ts';

const commandId = '6d5c0f0e-3b1f-4c43-9d7b-2f1f3e0f6a11';

async function started(prepare: (rig: ConsoleRig) => void = () => undefined) {
  const rig = new ConsoleRig();
  prepare(rig);
  await rig.state.start();
  await rig.settle();
  return rig;
}

const sent = (rig: ConsoleRig, method: string) => rig.asked.filter((asked) => asked.method === method);
const keyOf = ({ headers }: ConsoleRig['asked'][number]) => headers['idempotency-key'];

function filled(rig: ConsoleRig) {
  const ticket = rig.state.openTicket({});
  ticket.set({ accountId: 'ACC-1', symbol: ' AAPL ', side: 'BUY', quantity: '5', price: '1.10' });
  return ticket;
}

describe('a ticket', () => {
  it('sends the exact body of the preview, once for two clicks', async () => {
    const rig = await started((each) => each.answers.set('POST /v1/orders', { status: 202, body: { commandId } }));
    const ticket = filled(rig);
    const { body } = requestOf(ticket.fields.value);
    await Promise.all([ticket.send(), ticket.send()]);
    expect(sent(rig, 'POST').map((asked) => asked.body)).toEqual([body]);
    expect(body).toEqual({
      ...{
        accountId: 'ACC-1',
        symbol: 'AAPL',
        side: 'BUY',
        type: 'LIMIT',
        qty: '5',
        timeInForce: 'DAY',
        price: '1.10',
      },
    });
    expect(ticket.progress.value).toEqual({ kind: 'sent', commandId });
  });

  it('asks again with the same key and body when no answer comes, stays locked meanwhile, and keeps its key on other screens', async () => {
    const rig = await started();
    rig.away.add('POST /v1/orders');
    const ticket = filled(rig);
    const sending = ticket.send();
    await rig.settle();
    await rig.pass(500);
    await rig.pass(2_000);
    await sending;
    expect([ticket.progress.value.kind, sent(rig, 'POST').length]).toEqual(['away', 3]);
    ticket.set({ quantity: '500' });
    expect([ticket.fields.value.quantity, rig.state.openTicket({ quantity: '500' })]).toEqual(['5', ticket]);
    rig.away.clear();
    rig.answers.set('POST /v1/orders', { status: 200, body: { commandId } });
    await ticket.send();
    expect(ticket.progress.value).toEqual({ kind: 'sent', commandId });
    expect(new Set(sent(rig, 'POST').map(keyOf))).toEqual(new Set([ticket.key]));
    expect(new Set(sent(rig, 'POST').map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(rig.state.openTicket({}).key).not.toBe(ticket.key);
  });

  it('asks again in the same way when the instance that the service asked gave no answer', async () => {
    const problem = { code: 'FORWARD_UNANSWERED', detail: 'the answer was lost' };
    const rig = await started((each) => each.answers.set('POST /v1/orders', { status: 503, body: problem }));
    const ticket = filled(rig);
    const sending = ticket.send();
    await rig.settle();
    rig.answers.set('POST /v1/orders', { status: 200, body: { commandId } });
    await rig.pass(500);
    await sending;
    expect(ticket.progress.value).toEqual({ kind: 'sent', commandId });
    expect(sent(rig, 'POST').map(keyOf)).toEqual([ticket.key, ticket.key]);
  });

  it('shows each fault of the service beside its field, and goes on under its key', async () => {
    const faults = [
      { path: 'qty', message: 'must be greater than zero' },
      { path: 'legs[1].symbol', message: 'must be a symbol' },
      { path: 'legs[0].symbol', message: 'must be a symbol' },
      { path: 'stopPrice', message: 'must be a decimal' },
      { path: 'currency', message: 'is odd' },
    ];
    const rig = await started((each) =>
      each.answers.set('POST /v1/orders', {
        status: 400,
        body: { code: 'INVALID_ORDER', detail: 'see faults', faults },
      }),
    );
    const ticket = filled(rig);
    await ticket.send();
    expect(ticket.progress.value).toEqual({
      kind: 'refused',
      why: 'currency is odd',
      faults: new Map([
        ['quantity', 'must be greater than zero'],
        ['legs[1].symbol', 'must be a symbol'],
        ['legs[0].symbol', 'is missing'],
        ['stopPrice', 'is missing'],
      ]),
    });
    ticket.set({ quantity: '6' });
    expect(ticket.progress.value).toEqual({ kind: 'open' });
    await ticket.send();
    expect(new Set(sent(rig, 'POST').map(keyOf)).size).toBe(1);
  });

  it('finds the command that an earlier request of the same key has made', async () => {
    const rig = await started((each) => {
      each.answers.set('POST /v1/orders', {
        status: 422,
        body: { code: 'IDEMPOTENCY_KEY_REUSED', detail: 'another body' },
      });
      each.answers.set('/v1/commands?idempotencyKey=console-id-1', { status: 200, body: { items: [{ commandId }] } });
    });
    const ticket = filled(rig);
    await ticket.send();
    expect(ticket.progress.value).toEqual({ kind: 'sent', commandId });
  });

  it('sends only the fields that belong to its choices', async () => {
    const ticket = filled(await started());
    ticket.set({ type: 'MARKET', stopPrice: '3', reference: 'mine' });
    expect(requestOf(ticket.fields.value).body).not.toHaveProperty('price');
    ticket.setKind('option');
    ticket.set({ legs: [{ symbol: 'AAPL261218C00200000', side: 'SELL', ratioQty: '1', positionEffect: 'OPEN' }] });
    expect(requestOf(ticket.fields.value).body).toMatchObject({ side: 'SELL', price: '1.10', clientId: 'mine' });
    ticket.setKind('prediction');
    expect(ticket.fields.value).toMatchObject({ side: '', outcome: '' });
    ticket.set({ side: 'buy', outcome: 'YES' });
    expect(requestOf(ticket.fields.value)).toEqual({
      path: '/v1/predictions/orders',
      body: {
        ...{ accountId: 'ACC-1', symbol: 'AAPL', outcome: 'YES', side: 'buy', orderType: 'limit', timeInForce: 'day' },
        ...{ quantity: '5', price: '1.10', clientOrderRef: 'mine' },
      },
    });
  });

  it('names the stream of an account at another venue than the usual one', async () => {
    const ticket = filled(await started());
    expect(requestOf(ticket.fields.value).body).not.toHaveProperty('stream');
    ticket.set({ stream: namedStream('alpaca_paper') });
    expect(requestOf(ticket.fields.value).body).toMatchObject({ stream: 'alpaca_paper' });
    const terms = { symbol: 'AAPL', side: 'BUY', type: 'MARKET', qty: '5', timeInForce: 'DAY' };
    const again = fieldsOf({ stream: 'alpaca_paper', accountId: 'ACC-1', terms });
    expect(again && requestOf(again).body).toEqual({ stream: 'alpaca_paper', accountId: 'ACC-1', ...terms });
    expect([namedStream('account'), namedStream('prediction')]).toEqual(['', '']);
  });

  it('has hours beyond the session where the venue has them, and keeps them in another ticket', async () => {
    const ticket = filled(await started());
    ticket.set({ stream: 'alpaca_paper', hours: 'extended', type: 'LIMIT', price: '1.10' });
    const { body } = requestOf(ticket.fields.value);
    expect(body).toMatchObject({ stream: 'alpaca_paper', extendedHours: true });
    for (const over of [{ stream: '' }, { type: 'MARKET' }, { timeInForce: 'IOC' }, { hours: '' }])
      expect(requestOf({ ...ticket.fields.value, ...over }).body).not.toHaveProperty('extendedHours');
    const { accountId = '', stream: _stream, ...terms } = body as PlaceAccountBody;
    expect(fieldsOf({ stream: 'alpaca_paper', accountId, terms })).toMatchObject({ hours: 'extended' });
  });

  it('offers an account of each venue, also of one name, and takes the one that was chosen', async () => {
    const ticket = filled(await started());
    const streams = ['account', 'alpaca_paper', 'prediction'] as const;
    const all = streams.map((stream) => ({ accountId: 'ACC-1', stream, isSim: true, state: 'live' }) as never);
    const offered = accountsFor(ticket.fields.value, all);
    expect([...offered.keys()]).toEqual(['ACC-1', 'ACC-1 (alpaca_paper)']);
    const chosen = (stream: string) => accountOf({ ...ticket.fields.value, stream }, offered)?.stream;
    expect(['', 'alpaca_paper', 'alpaca'].map(chosen)).toEqual(['account', 'alpaca_paper', 'account']);
    expect([...accountsFor({ ...ticket.fields.value, kind: 'prediction' }, all).keys()]).toEqual(['ACC-1']);
    expect(accountOf({ ...ticket.fields.value, accountId: 'ACC-2' }, offered)).toBeUndefined();
  });

  it('begins with the words of its address that it knows', () => {
    expect(prefilledBy(new URLSearchParams('kind=option&accountId=A-1&symbol=KO&price=<img>&quantity='))).toEqual({
      ...{ kind: 'option', accountId: 'A-1', symbol: 'KO' },
    });
    expect(prefilledBy(new URLSearchParams('kind=__proto__'))).toEqual({});
  });

  it('has each fault at its field, in words for people', () => {
    const fields = { ...emptyFields('option'), quantity: 'ten', price: '12,5', stopPrice: '0' };
    const faultAt = (path: string) => ({ path, message: `must be so (${path})` });
    const { faults, why } = faultsIn(['qty', 'price', 'stopPx', 'legs[0].side', 'currency'].map(faultAt), fields);
    expect([...faults]).toEqual([
      ['quantity', 'is not a number such as 12.5'],
      ['price', 'is not a number such as 12.5'],
      ['stopPrice', 'must be so (stopPx)'],
      ['legs[0].side', 'is missing'],
    ]);
    expect(why).toBe('currency must be so (currency)');
  });
});

describe('issue: A ticket did not take a number as the console prints it.', () => {
  it.each([
    ['1,000', '1000'],
    [' 12,345,678.50 ', '12345678.50'],
    ['-1,000.5', '-1000.5'],
    ['999', '999'],
    ['1,00', '1,00'],
    ['1000,000', '1000,000'],
    ['12,5', '12,5'],
    ['1,000,', '1,000,'],
    [',100', ',100'],
  ])('%j is sent as %j', (typed, sent) => {
    const legs = [{ symbol: 'C', side: 'BUY', ratioQty: typed, positionEffect: 'OPEN' }];
    const terms = { quantity: typed, price: typed, stopPrice: typed, reference: '1,000', legs };
    expect(requestOf({ ...emptyFields('option'), ...terms, type: 'STOP_LIMIT' }).body).toMatchObject({
      ...{ qty: sent, price: sent, stopPrice: sent, clientId: '1,000', legs: [{ ratioQty: sent }] },
    });
    expect(requestOf({ ...emptyFields('prediction'), ...terms, type: 'stop_limit' }).body).toMatchObject({
      ...{ quantity: sent, price: sent, stopPx: sent, clientOrderRef: '1,000' },
    });
    const { order } = updateOf({ stream: 'prediction' });
    expect(changedTerms({ ...order, price: '7' }, { quantity: typed })[0]?.to).toBe(sent);
  });
});

describe('an action of an order', () => {
  const seen = listedOf(updateOf({ stream: 'prediction', orderId: 'p 1', accountId: 'ACC-1', revision: 4 }));
  const cancelPath = 'DELETE /v1/predictions/orders/p%201?accountId=ACC-1';

  it('is for readers that may send commands, and for orders that are open', async () => {
    const rig = await started();
    const { session } = rig.state;
    expect(orderActions(session, seen)).toEqual(['cancel', 'replace']);
    expect(orderActions(session, listedOf(updateOf()))).toEqual(['cancel']);
    expect(orderActions(session, listedOf(updateOf({ status: 'filled' })))).toEqual(['cancel']);
    expect(orderActions((await started((each) => each.rights.scopes.splice(1, 1))).state.session, seen)).toEqual([]);
    const off = await started((each) => {
      each.rights.commands = 'off';
    });
    expect(orderActions(off.state.session, seen)).toEqual([]);
  });

  it('is done only to the revision that was seen; after a change the newer one has to be seen first, under the same key', async () => {
    const rig = await started((each) =>
      each.answers.set(cancelPath, { status: 412, body: { code: 'REVISION_MISMATCH', detail: 'it changed' } }),
    );
    const action = new OrderAction(rig.state, seen);
    expect(await action.cancel()).toMatchObject({ kind: 'problem', status: 412 });
    const newer = listedOf(
      updateOf({ stream: 'prediction', orderId: 'p 1', accountId: 'ACC-1', revision: 7, cumQty: '60' }),
    );
    rig.answers.set('/v1/orders/prediction/p%201', { status: 200, body: newer });
    const before = await action.lookAgain();
    expect(changesBetween(before?.order ?? seen.order, action.seen.order)).toEqual([
      { field: 'cumQty', from: '40', to: '60' },
    ]);
    rig.answers.set(cancelPath, { status: 200, body: { commandId } });
    expect(await action.cancel()).toMatchObject({ kind: 'ok' });
    const [first, second] = sent(rig, 'DELETE');
    expect([first?.headers['if-match'], second?.headers['if-match']]).toEqual(['"4"', '"7"']);
    expect(first && keyOf(first)).toBe(second && keyOf(second));
  });

  it('replaces an order at Alpaca in the words of a place, with its stream', async () => {
    const rig = await started((each) => each.answers.set('PATCH /v1/orders/o-1', { status: 202, body: { commandId } }));
    const order = { ...seen.order, stream: 'alpaca_paper', timeInForce: 'day' } as const;
    const named = { ...seen, stream: 'alpaca_paper', orderId: 'o-1', order } as const;
    const wanted = { quantity: '7000', stopPx: '', timeInForce: 'gtc', expireTime: '2026-12-31T21:00:00Z' };
    await new OrderAction(rig.state, named).replace(wanted);
    const { accountId } = named;
    const [patch] = sent(rig, 'PATCH');
    expect(patch?.body).toEqual({ accountId, stream: 'alpaca_paper', qty: '7000', timeInForce: 'GTC' });
  });

  it('replaces the terms that differ, and no others', async () => {
    const rig = await started();
    const { quantity, price } = seen.order.working;
    await new OrderAction(rig.state, seen).replace({ quantity: ` ${quantity} `, price: '0.5', stopPx: '' });
    expect(price).not.toBe('0.5');
    expect(sent(rig, 'PATCH').map(({ body }) => body)).toEqual([{ accountId: 'ACC-1', price: '0.5' }]);
  });

  it('shows what the new terms come to, before they are sent, for the revision that was seen', async () => {
    const faults = [{ path: 'price', message: 'must be below 1' }];
    const rig = await started((each) =>
      each.answers.set('POST /v1/predictions/orders/p%201/preview', {
        status: 400,
        body: { code: 'INVALID_ORDER', detail: 'see faults', faults },
      }),
    );
    const action = new OrderAction(rig.state, seen);
    const preview = new OrderPreview(rig.state);
    expect(action.questionOf({ price: seen.order.working.price })).toBeUndefined();
    void preview.ask(action.questionOf({ price: '1.5' }));
    await rig.pass(60_000);
    expect(
      sent(rig, 'POST').map(({ body, headers }) => [body, headers['if-match'], headers['idempotency-key']]),
    ).toEqual([[{ accountId: 'ACC-1', price: '1.5' }, '"4"', undefined]]);
    expect(preview.state.value).toMatchObject({ isOld: false, note: 'price must be below 1.' });
  });
});

describe('issue: To place an order once more, each field of it had to be typed again.', () => {
  const leg = { symbol: 'AAPL261218C00200000', side: 'SELL', ratioQty: '1', positionEffect: 'OPEN' };
  const common = { symbol: 'AAPL', side: 'SELL', type: 'STOP_LIMIT', qty: '10', timeInForce: 'DAY' };

  it.each([
    ['account', { ...common, price: '187.5', stopPrice: '188' }],
    ['account', { ...common, type: 'LIMIT', price: '1.5', legs: [leg, { ...leg, side: 'BUY' }] }],
    [
      'prediction',
      {
        ...{ symbol: 'RAIN', outcome: 'NO', side: 'buy', orderType: 'limit', timeInForce: 'gtd', quantity: '7' },
        ...{ price: '0.4', expireTime: '2026-12-31T21:00:00.000Z' },
      },
    ],
  ] as const)('the ticket has the terms of the %s place, and asks for the same order', (stream, terms) => {
    const fields = fieldsOf({ stream, accountId: 'ACC-1', terms });
    expect(fields && requestOf(fields).body).toEqual({ accountId: 'ACC-1', ...terms });
  });

  it('has nothing of a ticket before it, a key of its own, and sends nothing by itself', async () => {
    const rig = await started((each) => each.answers.set('POST /v1/orders', { status: 202, body: { commandId } }));
    const first = filled(rig);
    await first.send();
    const asked = rig.asked.length;
    const again = fieldsOf({ stream: 'account', accountId: 'ACC-1', terms: { ...common, stopPrice: '188' } });
    const ticket = rig.state.openTicket({ ...again });
    expect([ticket.key === first.key, ticket.progress.value.kind, rig.asked.length]).toEqual([false, 'open', asked]);
    ticket.set({ reference: 'mine', supersedes: commandId });
    expect(rig.state.openTicket({ ...again }).fields.value).toMatchObject({ reference: '', supersedes: '' });
  });

  it('is not offered where a ticket has no field for a term', () => {
    expect(fieldsOf({ stream: 'account', accountId: 'ACC-1', terms: { ...common, currency: 'EUR' } })).toBeUndefined();
  });
});
