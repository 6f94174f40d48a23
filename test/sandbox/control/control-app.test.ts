import { describe, expect, it } from 'vitest';
import { orderVerb } from '../../../src/sandbox/control/order-verbs.ts';
import { ask, control, controlLines, runningSandbox } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

const accountId = 'SIM-1001';

async function oneOrder(more: object = {}) {
  const sandbox = await runningSandbox();
  const at = sandbox.description;
  const { json } = await control(at, '/orders', {
    stream: 'prediction',
    accountId,
    quantity: '10',
    price: '0.5',
    ...more,
  });
  const verb = (body: object) => control(at, `/orders/${json.orderId ?? json.ordId}`, body);
  return { sandbox, at, order: json, verb };
}

describe('an order made by hand', () => {
  it('is what was asked for', async () => {
    const made = { clientOrderRef: 'mine', outcome: 'NO', side: 'sell', timeInForce: 'day' };
    const { order } = await oneOrder({ ...made, version: '41', accepted: false });
    expect(order).toMatchObject({
      accountId,
      quantity: '10',
      price: '0.5',
      ...made,
      version: 41,
      state: 'pending_new',
    });
  });

  it('waits for the venue, or works at once', async () => {
    expect((await oneOrder({ accepted: false })).order.state).toBe('pending_new');
    expect((await oneOrder()).order.state).toBe('new');
  });

  it('is left alone by the market unless it was given to it', async () => {
    const { sandbox, at, order } = await oneOrder();
    const { json: live } = await control(at, '/orders', { stream: 'prediction', accountId, live: true });
    await control(at, '/burst', { count: 3000 });
    await eventually(() => expect(sandbox.controls.status()).toMatchObject({ changes: 3000 }));
    const state = new Map((await controlLines(at, '/state')).map((line) => [line.orderId, line.order]));
    expect(state.get(order.orderId)).toEqual(order);
    expect(state.get(live.orderId)?.version).toBeGreaterThan(live.version);
  });

  it.each([
    { stream: 'prediction', accountId, quantity: '-1' },
    { stream: 'prediction', accountId, quantity: '0' },
    { stream: 'prediction', accountId, version: '-1' },
    { stream: 'account', accountId, outcome: 'YES' },
    { stream: 'crypto', accountId },
    { accountId },
  ])('is refused when it makes no sense: %j', async (body) => {
    const { description: at } = await runningSandbox();
    expect((await control(at, '/orders', body)).status).toBe(400);
  });

  it('is refused on an account that is not there or not enrolled', async () => {
    const { description: at } = await runningSandbox();
    expect((await control(at, '/orders', { stream: 'account', accountId: 'nobody' })).status).toBe(404);
    expect((await control(at, '/orders', { stream: 'prediction', accountId: 'SIM-1002' })).status).toBe(409);
  });
});

describe('the venue', () => {
  it('accepts, fills in parts, fills the rest', async () => {
    const { verb } = await oneOrder({ accepted: false });
    expect((await verb({ action: 'accept' })).json.state).toBe('new');
    expect((await verb({ action: 'fill', quantity: '4', price: '0.45' })).json).toMatchObject({
      state: 'partially_filled',
      cumQty: '4',
      leavesQty: '6',
      avgPx: '0.45',
    });
    expect((await verb({ action: 'fill' })).json).toMatchObject({
      state: 'filled',
      cumQty: '10',
      leavesQty: '0',
      avgPx: '0.48',
    });
  });

  it('refuses a new order, a replace and a cancel, with its reason', async () => {
    const { verb } = await oneOrder({ accepted: false });
    expect((await verb({ action: 'refuse', reason: 'R', text: 'why\u0000' })).json).toMatchObject({
      state: 'rejected',
      rejectReason: 'R',
      rejectText: 'why\u0000',
    });
    const second = await oneOrder();
    expect((await second.verb({ action: 'ask_replace', quantity: '12' })).json).toMatchObject({
      pendingAction: 'replace',
      workingQuantity: '10',
    });
    expect((await second.verb({ action: 'refuse' })).json).toMatchObject({
      pendingAction: 'none',
      workingQuantity: '10',
    });
    await second.verb({ action: 'ask_cancel' });
    expect((await second.verb({ action: 'refuse' })).json).toMatchObject({ pendingAction: 'none', state: 'new' });
  });

  it('lets a replace and a cancel take effect', async () => {
    const { verb } = await oneOrder();
    await verb({ action: 'ask_replace', quantity: '12', price: '0.6' });
    expect((await verb({ action: 'accept' })).json).toMatchObject({
      workingQuantity: '12',
      workingPrice: '0.6',
      quantity: '10',
    });
    await verb({ action: 'ask_cancel' });
    expect((await verb({ action: 'accept' })).json).toMatchObject({ state: 'canceled', pendingAction: 'none' });
  });

  it('cancels, expires, rests and resumes', async () => {
    for (const [action, state] of [
      ['cancel', 'canceled'],
      ['expire', 'expired'],
      ['done_for_day', 'done_for_day'],
    ]) {
      expect((await (await oneOrder()).verb({ action })).json.state).toBe(state);
    }
    const resting = await oneOrder({ stream: 'account', price: '10' });
    expect((await resting.verb({ action: 'suspend' })).json.ordStatus).toBe('SUSPENDED');
    expect((await resting.verb({ action: 'resume' })).json.ordStatus).toBe('NEW');
  });

  it('shows a pending cancel or replace of an account order in its status', async () => {
    const { verb } = await oneOrder({ stream: 'account', price: '10' });
    expect((await verb({ action: 'ask_cancel' })).json.ordStatus).toBe('PENDING_CANCEL');
    await verb({ action: 'refuse' });
    expect((await verb({ action: 'ask_replace', price: '11' })).json).toMatchObject({
      ordStatus: 'PENDING_REPLACE',
      price: '10',
    });
    expect((await verb({ action: 'accept' })).json).toMatchObject({ ordStatus: 'NEW', price: '11' });
  });

  it('takes a trade back', async () => {
    const { verb } = await oneOrder({ stream: 'account', price: '10' });
    await verb({ action: 'fill' });
    expect((await verb({ action: 'correct', cumQty: '4' })).json).toMatchObject({
      ordStatus: 'PARTIALLY_FILLED',
      cumQty: '4',
      avgPrice: '10',
    });
    expect((await verb({ action: 'correct', cumQty: '5' })).status).toBe(409);
  });

  it('does nothing to a closed order, whatever it is asked', async () => {
    const { verb, at } = await oneOrder();
    await verb({ action: 'cancel' });
    const before = (await ask(`${at.control}/state`)).text;
    for (const { shape } of orderVerb.options) {
      if (['correct', 'take_back'].includes(shape.action.value)) continue;
      expect((await verb({ action: shape.action.value })).status).toBe(409);
    }
    expect((await ask(`${at.control}/state`)).text).toBe(before);
  });

  it('answers 404 for an order that is not there, and 400 for a verb that it does not know', async () => {
    const { at, verb } = await oneOrder();
    expect((await control(at, '/orders/nothing', { action: 'cancel' })).status).toBe(404);
    expect((await verb({ action: 'explode' })).status).toBe(400);
    expect((await verb({ action: 'fill', quantity: '1e3' })).status).toBe(400);
  });
});

describe('the control port', () => {
  it('tells what it can do', async () => {
    const { description: at } = await runningSandbox();
    const { text } = await ask(`${at.control}/`);
    for (const verb of [
      'POST /faults',
      'POST /heal',
      'POST /rate',
      'POST /burst',
      'POST /orders/{id}',
      'GET  /ledger',
      'GET  /state',
      'POST /stop',
    ])
      expect(text).toContain(verb);
  });

  it('sets the rate while it runs', async () => {
    const { description: at, controls } = await runningSandbox();
    await control(at, '/rate', { rate: 500 });
    await eventually(() => expect(JSON.parse(JSON.stringify(controls.status())).changes).toBeGreaterThan(50));
    await control(at, '/rate', { rate: 0 });
    for (const body of [{ rate: -1 }, { rate: 'fast' }, {}])
      expect((await control(at, '/rate', body)).status).toBe(400);
  });

  it('takes JSON only, so that no web page can steer it unasked', async () => {
    const { description: at } = await runningSandbox();
    const answer = await ask(`${at.control}/burst`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: '{"count":1}',
    });
    expect(answer.status).toBe(415);
  });

  it('stops the sandbox when asked to', async () => {
    const sandbox = await runningSandbox();
    expect((await control(sandbox.description, '/stop')).json).toEqual({ stopping: true });
    await sandbox.stopAsked;
    await sandbox.stop();
    await expect(ask(sandbox.description.control)).rejects.toThrow();
  });

  it('shows the truth that the lists show, order by order', async () => {
    const { description: at, parts } = await runningSandbox({ market: { knownOrders: 300 } });
    const state = await controlLines(at, '/state');
    expect(state).toHaveLength(parts.exchange.orders.size);
    expect(
      (await controlLines(at, '/state?stream=account&accountId=SIM-1002')).every(
        (line) => line.accountId === 'SIM-1002',
      ),
    ).toBe(true);
  });
});
