import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SandboxDescription } from '../../src/sandbox/describe-sandbox.ts';
import { launchConsole, openConsole } from '../support/console-browser.ts';
import { expectAccessible } from '../support/expect-accessible.ts';
import { eventually } from '../support/poll.ts';
import { call } from '../support/rest-call.ts';
import { sha256, startRest } from '../support/rest-rig.ts';
import { controlLines, runningSandbox } from '../support/sandbox.ts';
import { platformOf, type RunningService, World } from '../support/service-under-test.ts';

const accountId = 'SIM-1001';

interface Desk {
  readonly page: Page;
  readonly rest: string;
  readonly service: RunningService;
  readonly sandbox: SandboxDescription;
}

async function openDesk(): Promise<Desk> {
  const { description: sandbox } = await runningSandbox();
  const world = await World.create({ platform: platformOf(sandbox), env: { TIDEMARK_COMMANDS: 'on' } });
  const service = await world.serve();
  await service.waitLive();
  return { page: await openConsole(), rest: await service.restAddress(), service, sandbox };
}

/** What the platform itself says of the orders under the references of a command. */
async function decisionsOf({ sandbox, service }: Desk, commandId: string): Promise<string[]> {
  const { body } = await call(service, 'GET', `/v1/commands/${commandId}`);
  const ours = new Set(body.attempts.map(({ attemptId }: { attemptId: string }) => attemptId));
  const decisions = await controlLines(sandbox, '/ledger?kind=decision');
  return decisions.filter(({ reference }) => ours.has(reference)).map(({ decision }) => decision);
}

async function fillTicket(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, text] of Object.entries(fields)) {
    const field = page.getByLabel(label, { exact: true });
    if ((await field.evaluate(({ tagName }) => tagName)) === 'SELECT') await field.selectOption(text);
    else await field.fill(text);
  }
}

/** The id of the command whose page is shown. */
async function shownCommand(page: Page): Promise<string> {
  await page.waitForURL(/\/console\/commands\/[0-9a-f-]{36}$/);
  return new URL(page.url()).pathname.split('/').at(-1) ?? '';
}

const placeButton = (page: Page) => page.getByRole('button', { name: 'Place the order' });

/** Faults stand beside their fields, nothing is sent by them, and a double click sends once. */
async function placesOnce(desk: Desk): Promise<void> {
  const { page, rest, service } = desk;
  await page.goto(`${rest}/console`);
  await page.getByRole('link', { name: 'Place' }).click();
  await page.getByRole('option', { name: `${accountId}, simulated` }).waitFor({ state: 'attached' });
  await fillTicket(page, { Account: accountId, Symbol: 'AAPL', Quantity: '0', Price: '1.00', 'Time in force': 'GTC' });
  await placeButton(page).click();
  await page.getByText('must be greater than zero').waitFor();
  expect(await page.getByLabel('Quantity').getAttribute('aria-invalid')).toBe('true');
  expect((await call(service, 'GET', '/v1/commands')).body.items).toEqual([]);
  await expectAccessible(page);
  await fillTicket(page, { Quantity: '5' });
  expect(JSON.parse((await page.getByLabel('Body of the request').textContent()) ?? '')).toEqual({
    ...{ accountId, symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', timeInForce: 'GTC', price: '1.00' },
  });
  await placeButton(page).dblclick();
  const commandId = await shownCommand(page);
  await eventually(async () => expect(await decisionsOf(desk, commandId)).toEqual(['accepted']));
  expect((await call(service, 'GET', '/v1/commands')).body.items).toHaveLength(1);
}

/** The answer of the first request is cut off: the page sends the same again, and one order comes of it. */
async function placesOnceOverACut(desk: Desk): Promise<string> {
  const { page, rest, service, sandbox } = desk;
  await page.goto(`${rest}/console/place?kind=prediction&accountId=${accountId}&symbol=${sandbox.predictionSymbols[0]}`);
  const keys: (string | undefined)[] = [];
  await page.route('**/v1/predictions/orders', async (route) => {
    keys.push(route.request().headers()['idempotency-key']);
    if (keys.length > 1) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await fillTicket(page, { Quantity: '10', Price: '0.01', 'Time in force': 'gtc', 'Your reference': 'cut-1' });
  await placeButton(page).click();
  const commandId = await shownCommand(page);
  await page.unroute('**/v1/predictions/orders');
  expect(keys).toEqual([keys[0], keys[0]]);
  await eventually(async () => expect(await decisionsOf(desk, commandId)).toEqual(['accepted']));
  expect((await call(service, 'GET', '/v1/commands')).body.items).toHaveLength(2);
  const { body } = await eventually(async () => {
    const answer = await call(service, 'GET', `/v1/commands/${commandId}`);
    expect(answer.body.outcome).toBe('applied');
    return answer;
  });
  return body.orderId;
}

/** Old → new before it is sent; then a cancel of an order that changed meanwhile says what changed, and sends nothing until it was seen. */
async function replacesAndCancels({ page, rest, service }: Desk, orderId: string): Promise<void> {
  await page.goto(`${rest}/console/orders/prediction/${orderId}`);
  await page.getByRole('button', { name: 'Replace …' }).click();
  await page.getByLabel('Price', { exact: true }).fill('0.02');
  await page.getByRole('listitem').filter({ hasText: 'Price 0.01 → 0.02' }).waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Replace', exact: true }).click();
  const order = async () => (await call(service, 'GET', `/v1/orders/prediction/${orderId}`)).body.order;
  await eventually(async () => expect((await order()).working).toMatchObject({ quantity: '10', price: '0.02' }));
  await page.getByText('Your replace').waitFor();
  await page.getByRole('button', { name: 'Cancel order …' }).click();
  const other = { body: { accountId, price: '0.03' }, wait: 20 };
  expect((await call(service, 'PATCH', `/v1/predictions/orders/${orderId}`, other)).body.outcome).toBe('applied');
  await page.getByRole('button', { name: 'Cancel the order' }).click();
  await page.getByText('The order has changed since you opened this, so nothing was sent.').waitFor();
  await page.getByRole('listitem').filter({ hasText: '0.03' }).first().waitFor();
  expect((await order()).status).toBe('new');
  await page.getByRole('button', { name: 'Cancel the order' }).click();
  await page.getByText('Your cancel').waitFor();
  await eventually(async () => expect((await order()).status).toBe('canceled'));
  await page.getByRole('button', { name: 'Cancel order …' }).waitFor({ state: 'detached' });
}

async function confirm(page: Page, typed: string, label: string): Promise<void> {
  const button = page.getByRole('button', { name: label, exact: true });
  expect(await button.isDisabled()).toBe(true);
  await page.getByLabel(`Type ${typed} to confirm`).fill(typed);
  await page.getByLabel('Reason, for the record').fill('a drill');
  await button.click();
}

/** Halt, cancel-all and resume of one account, each to its effect; a halt from elsewhere shows by itself. */
async function stops({ page, rest, service, sandbox }: Desk): Promise<void> {
  await page.goto(`${rest}/console/risk`);
  await page.getByRole('cell', { name: 'AAPL', exact: true }).first().waitFor();
  const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: `${accountId} simulated` }) });
  await row.getByText('not halted').waitFor();
  await page.getByRole('button', { name: `Halt ${accountId}` }).click();
  await expectAccessible(page);
  await confirm(page, accountId, 'Halt');
  await row.getByText('a drill').waitFor();
  expect((await call(service, 'GET', '/v1/halts')).body.halts).toMatchObject([{ scope: { accountId }, reason: 'a drill' }]);
  await call(service, 'POST', '/v1/halt', { body: { reason: 'from elsewhere' } });
  await page.getByText('from elsewhere').waitFor();

  const open = async () => (await call(service, 'GET', `/v1/orders?open=true&accountId=${accountId}`)).body.items.length;
  const count = await open();
  expect(count).toBeGreaterThan(0);
  await page.getByRole('button', { name: `Cancel all ${accountId}` }).click();
  await confirm(page, accountId, 'Cancel the orders');
  await page.getByText(`${count} of ${count} over, 0 under way, 0 not cancelled.`).waitFor({ timeout: 60_000 });
  expect(await open()).toBe(0);
  const orders = await controlLines(sandbox, '/ledger?kind=order');
  expect(orders.filter(({ account, open: isOpen }) => account === accountId && isOpen === true)).toEqual([]);
  await expectAccessible(page);

  await page.getByRole('button', { name: `Resume ${accountId}` }).click();
  await confirm(page, accountId, 'Resume');
  await row.getByText('not halted').waitFor();
  await page.getByRole('button', { name: 'Resume all accounts' }).click();
  await confirm(page, 'all accounts', 'Resume');
  await page.getByText('from elsewhere').waitFor({ state: 'detached' });
  expect((await call(service, 'GET', '/v1/halts')).body.halts).toEqual([]);
}

describe('deeds of the console in Chromium', () => {
  it('places, replaces, cancels, halts and cancels all, each once and to its effect at the platform', async () => {
    const desk = await openDesk();
    await placesOnce(desk);
    const orderId = await placesOnceOverACut(desk);
    await replacesAndCancels(desk, orderId);
    await stops(desk);
    expect(await desk.service.stop()).toBe(0);
  }, 240_000);

  it('shows no deed to a reader without its right', async () => {
    const token = { name: 'desk', sha256: sha256('secret'), scopes: ['orders:read', 'ops:read'], accounts: ['ACC-1'] };
    const rig = await startRest({ withConsole: true, auth: { tokens: [token] } });
    onTestFinished(() => rig.server.drain(new AbortController().signal));
    rig.reads.addUpdate({ orderId: 'mine', accountId: 'ACC-1' });
    rig.server.wake();
    const browser = await launchConsole();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await page.goto(`${rig.address}/console/orders/account/mine`);
    await page.getByLabel('Token').fill('secret');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Versions' }).waitFor();
    expect(await page.getByRole('button', { name: /Cancel|Replace/ }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Place' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Risk' }).click();
    await page.getByRole('heading', { name: 'Stops', exact: true }).waitFor();
    await page.getByRole('rowheader', { name: 'All accounts' }).waitFor();
    expect(await page.getByRole('button', { name: /Halt|Resume|Cancel all|Approve/ }).count()).toBe(0);
    await page.goto(`${rig.address}/console/place`);
    await page.getByText('Orders cannot be placed here').waitFor();
  });
});
