import { Decimal } from 'decimal.js';
import { expect, it } from 'vitest';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { ask, askToken, control, controlLines, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';
import { PlatformStreamClient } from '../platform-stream-client.ts';

const accountId = 'SIM-1001';
const market = { knownOrders: 0, openOrders: 0 };

const say = (at: SandboxDescription, wire: object) => control(at, '/faults', { wire });

async function listed(at: SandboxDescription) {
  return ask(`${at.platform}/v1/orders?accountId=${accountId}`, { headers: await signedIn(at) });
}

function open(at: SandboxDescription, more: object = {}) {
  return control(at, '/orders', { stream: 'account', accountId, symbol: 'AAPL', quantity: '7', ...more });
}

it('says null or the empty text for what it may leave out, and an empty list as null', async () => {
  const { description: at } = await runningSandbox({ market });
  await say(at, { nulls: 1 });
  expect((await listed(at)).json.orders).toBeNull();
  await open(at, { orderType: 'MARKET' });
  const { json } = await listed(at);
  const nothing = [null, ''];
  expect(nothing).toContain(json.nextCursor);
  expect(nothing).toContain(json.orders[0].stopPrice);
  expect(nothing).toContain(json.orders[0].ordRejReason);
  expect(json.orders[0].qty).toBe('7');
  expect(nothing).toContain((await askToken(at)).json.refresh_token);
});

it('says the same order in its lists, on its streams and in its state, whatever the words', async () => {
  const { description: at } = await runningSandbox({ market });
  await say(at, { numbers: 1, longAverages: true, coarse: true, extras: 1, renamed: { AAPL: 'METAX' } });
  const client = await PlatformStreamClient.open(at.stream, await signedIn(at));
  await client.ask('subscribe', 'account', `account:${accountId}`);
  const { json: made } = await open(at);
  await control(at, `/orders/${made.ordId}`, { action: 'fill', quantity: '3', price: '10.5' });
  const event = await eventually(() => {
    const found = client.events().find(({ cumQty }) => Number(cumQty) === 3);
    if (found === undefined) throw new Error('not yet');
    return found;
  });
  const row = (await listed(at)).json.orders[0];
  const [{ order: truth }] = await controlLines(at, '/state');
  for (const { symbol, updatedAt, qty, x_trace: extra } of [event, row, truth])
    expect({ symbol, updatedAt, qty: Number(qty), extra }).toEqual({
      ...{ symbol: 'METAX', updatedAt: row.updatedAt, qty: 7, extra: 'a1' },
    });
  expect(row.updatedAt).toMatch(/:\d\dZ$/);
  const texts = [client.messages.map(({ text }) => text).join(), (await listed(at)).text];
  for (const text of texts) expect(text).toMatch(/"avgPrice":"?10\.5\d{36}7[",]/);
});

it('calls an order that is filled in part so, also while its cancel is pending', async () => {
  const { description: at } = await runningSandbox({ market });
  await say(at, { fillWords: true });
  const { json: made } = await open(at);
  await control(at, '/venue', { answerMs: 60_000 });
  const order = `${at.platform}/v1/orders/${made.ordId}?accountId=${accountId}`;
  await ask(order, { method: 'DELETE', headers: await signedIn(at) });
  const word = async () => (await listed(at)).json.orders[0].ordStatus;
  expect(await word()).toBe('PENDING_CANCEL');
  await control(at, `/orders/${made.ordId}`, { action: 'fill', quantity: '3', price: '10.5' });
  expect(await word()).toBe('PARTIALLY_FILLED');
});

it('has decimals of forty digits, as texts and as numbers, of the same value', async () => {
  const { description: at } = await runningSandbox({ market });
  await say(at, { numbers: 1 });
  await open(at);
  const forms = new Set<string>();
  for (let read = 0; read < 40; read += 1) {
    const [, quote = '', digits = ''] = /"qty":("?)([\d.]+)/.exec((await listed(at)).text) ?? [];
    expect(new Decimal(digits).toString()).toBe('7');
    forms.add(`${quote}${digits.length}`);
  }
  expect([...forms].sort()).toEqual(['"1', '"41', '1', '41']);
});

it('shows contracts, pads their roots, and knows them by another name', async () => {
  const { description: at } = await runningSandbox({ market: { knownOrders: 400, openOrders: 0 } });
  const optionsOf = async () =>
    (await controlLines(at, '/state')).flatMap(({ order }) => /^AAPL.*\d{6}[CP]\d{8}$/.exec(order.symbol)?.[0] ?? []);
  await say(at, { contracts: true });
  const plain = await optionsOf();
  expect(plain.length).toBeGreaterThan(0);
  await say(at, { padded: 1 });
  expect(await optionsOf()).toEqual(plain.map((symbol) => symbol.replace('AAPL', 'AAPL  ')));
  await say(at, { renamed: { AAPL: 'AAPLE1' } });
  expect((await optionsOf()).every((symbol) => symbol.length === 21)).toBe(true);
});

it('takes an end back, and heals to plain words', async () => {
  const { description: at } = await runningSandbox({ market });
  await say(at, { renamed: { AAPL: 'METAX' }, coarse: true });
  const { json: made } = await open(at);
  const move = async (action: string) => (await control(at, `/orders/${made.ordId}`, { action })).json;
  expect((await control(at, `/orders/${made.ordId}`, { action: 'take_back' })).status).toBe(409);
  expect(await move('expire')).toMatchObject({ ordStatus: 'EXPIRED' });
  expect(await move('take_back')).toMatchObject({ ordStatus: 'NEW' });
  await control(at, '/heal');
  const [row] = (await listed(at)).json.orders;
  expect(row).toMatchObject({ symbol: 'AAPL', ordStatus: 'NEW', updatedAt: expect.stringMatching(/\.\d{6}Z$/) });
});

it('restricts an account, and leaves one out of its list without taking its orders away', async () => {
  const { description: at } = await runningSandbox({ market });
  await open(at);
  await control(at, `/accounts/${accountId}`, { status: 'RESTRICTED' });
  const accounts = async () =>
    (await ask(`${at.platform}/v2/users/me/accounts`, { headers: await signedIn(at) })).json.accounts as {
      trading_account_id: string;
      status: string;
    }[];
  const ours = async () =>
    (await accounts()).filter((each) => each.trading_account_id === accountId).map(({ status }) => status);
  expect(await ours()).toEqual(['RESTRICTED']);
  await control(at, `/accounts/${accountId}`, { listed: false });
  expect(await ours()).toEqual([]);
  expect((await listed(at)).json.orders).toHaveLength(1);
});

it('gives new orders of both streams an id that an address has to encode, and knows them by it', async () => {
  const { description: at } = await runningSandbox({ market });
  await say(at, { ids: true });
  const headers = await signedIn(at);
  const made = new Set<string>();
  for (let count = 0; count < 40; count += 1) {
    const stream = count % 2 === 0 ? 'account' : 'prediction';
    const { json } = await control(at, '/orders', { stream, accountId });
    const id: string = json.ordId ?? json.orderId;
    made.add(id.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/, 'ID'));
    const path = `/v1/${stream === 'account' ? '' : 'predictions/'}orders/${encodeURIComponent(id)}?accountId=${accountId}`;
    expect((await ask(`${stream === 'account' ? at.platform : at.staging}${path}`, { headers })).json).toMatchObject(
      stream === 'account' ? { ordId: id } : { data: { orderId: id } },
    );
  }
  expect(made.size).toBeGreaterThan(5);
  expect(made).not.toContain('ID');
});
