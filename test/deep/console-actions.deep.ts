import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { forFile } from '../support/commands/at-end.ts';
import { listedOption } from '../support/platform/listed-option.ts';
import { control, controlLines } from '../support/platform/sandbox.ts';
import { launchConsole } from '../support/rest/console-browser.ts';
import { expectAccessible } from '../support/rest/expect-accessible.ts';
import { call } from '../support/rest/rest-call.ts';
import { sha256, startRest } from '../support/rest/rest-rig.ts';
import { eventually } from '../support/runs/poll.ts';
import type { RunningService } from '../support/runs/service-under-test.ts';
import {
  confirm,
  decisionsOf,
  fillTicket,
  placeButton,
  type RunningConsole,
  runConsole,
  shownCommand,
} from './parts/running-console.ts';

const accountId = 'SIM-1001';

/** One service for all of them, which begins without a command. */
const running = forFile(runConsole);

/** Far below every market: it rests. */
const resting = { accountId: 'SIM-1001', side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };

/** A place whose answer is a 504; `rule` says whether it is done all the same. */
async function placeWithout({ sandbox, service, token }: RunningConsole, rule: object, body: object): Promise<string> {
  await control(sandbox, '/faults', { rules: [{ on: 'write', fault: 'outcome_unknown', write: 'place', ...rule }] });
  const { body: command } = await call(service, 'POST', '/v1/orders', {
    body: { ...resting, ...body },
    ...(token !== undefined && { token }),
  });
  expect(command.result).toBe('unknown');
  return command.commandId;
}

const statusOf = (page: Page, words: string) => page.locator('h1 .status').getByText(words, { exact: true });

async function commandCount(service: RunningService): Promise<number> {
  return (await call(service, 'GET', '/v1/commands')).body.items.length;
}

/** Faults stand beside their fields, nothing is sent by them, and a double click sends once. */
async function placesOnce(running: RunningConsole, page: Page): Promise<void> {
  const { rest, service } = running;
  const before = await commandCount(service);
  await page.goto(`${rest}/console`);
  await page.getByRole('link', { name: 'Place' }).click();
  await page.getByRole('option', { name: `${accountId}, simulated` }).waitFor({ state: 'attached' });
  await fillTicket(page, { Account: accountId, Symbol: 'AAPL', Side: 'BUY', Quantity: '0', Price: '1.00' });
  await fillTicket(page, { 'Time in force': 'GTC' });
  await placeButton(page).click();
  await page.getByText('must be greater than zero', { exact: true }).waitFor();
  expect(await page.getByLabel('Quantity').getAttribute('aria-invalid')).toBe('true');
  expect(await commandCount(service)).toBe(before);
  await expectAccessible(page);
  await fillTicket(page, { Quantity: '5' });
  expect(JSON.parse((await page.getByLabel('Body of the request').textContent()) ?? '')).toEqual({
    ...{ accountId, symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', timeInForce: 'GTC', price: '1.00' },
  });
  await placeButton(page).dblclick();
  const commandId = await shownCommand(page);
  await eventually(async () => expect(await decisionsOf(running, commandId)).toEqual(['accepted']));
  expect(await commandCount(service)).toBe(before + 1);
  // The order and its fill are on the page, and a second one is a ticket with the same terms.
  await page.locator('.terms div').filter({ hasText: 'Filled' }).getByText('0 / 5').waitFor();
  await page.getByRole('button', { name: 'Place another' }).click();
  await placeButton(page).getByText('Buy 5 AAPL').waitFor();
  expect(JSON.parse((await page.getByLabel('Body of the request').textContent()) ?? '')).toEqual({
    ...{ accountId, symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', timeInForce: 'GTC', price: '1' },
  });
  expect(await commandCount(service)).toBe(before + 1);
}

/**
 * What the ticket comes to stands beside it while it is filled in: the quote, the value, and the
 * limit that will refuse, which then does. No order is sent by it.
 */
async function showsWhatItComesTo(running: RunningConsole, page: Page): Promise<void> {
  const { rest, service, sandbox } = running;
  const limits = (bounds: object) =>
    call(service, 'PATCH', '/v1/limits', { body: { accountId, bounds, reason: 'a drill' } });
  await limits({ maxQuantity: '6', maxNotional: '100000' });
  const writes = () => controlLines(sandbox, '/ledger?kind=decision');
  const before = [await writes(), await commandCount(service)];
  await page.goto(`${rest}/console/place?accountId=${accountId}&symbol=AAPL`);
  const panel = page.locator('.comes-to');
  await panel.getByText('are shown once the fields are filled in').waitFor();
  await fillTicket(page, { Side: 'BUY', Quantity: '5', Price: '1.00', 'Time in force': 'GTC' });
  await panel.getByText('5 USD at most').waitFor();
  await panel.getByText(/bid \d.*ask \d.*last \d.*, \d+ s old/).waitFor();
  await panel.getByText('Nothing would refuse this order now.').waitFor();
  await expectAccessible(page);
  await fillTicket(page, { Quantity: '7', Price: '200000' });
  await panel.getByText('The limit “max quantity” is 6, and this order would make it 7.').waitFor();
  await panel.getByText('The limit “max notional” is 100000, and this order would make it 1400000.').waitFor();
  await page
    .locator('#place-wild')
    .getByText(/^The price 200000 is \d+ % above the ask of [\d.]+\.$/)
    .waitFor();
  await expectAccessible(page);
  await fillTicket(page, { Quantity: '0' });
  await page.locator('.field .fault').getByText('must be greater than zero').waitFor();
  await fillTicket(page, { Quantity: '7' });
  await panel.getByText('“max quantity” is 6').waitFor();
  expect([await writes(), await commandCount(service)]).toEqual(before);
  await placeButton(page).click();
  await page.getByText('Nothing was sent.').filter({ hasText: 'the limit maxQuantity is 6' }).waitFor();
  expect([await writes(), await commandCount(service)]).toEqual(before);
  await limits({ maxQuantity: null, maxNotional: null });
}

/**
 * The answer of the first request is cut off: the page sends
 * the same again, and one order comes of it.
 */
async function placesOnceOverACut(running: RunningConsole, page: Page): Promise<string> {
  const { rest, service, sandbox } = running;
  const before = await commandCount(service);
  await page.goto(
    `${rest}/console/place?kind=prediction&accountId=${accountId}&symbol=${sandbox.predictionSymbols[0]}`,
  );
  const keys: (string | undefined)[] = [];
  await page.route('**/v1/predictions/orders', async (route) => {
    keys.push(route.request().headers()['idempotency-key']);
    if (keys.length > 1) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await fillTicket(page, { Outcome: 'YES', Side: 'buy', Quantity: '10', Price: '0.01', 'Time in force': 'gtc' });
  await fillTicket(page, { 'Your reference': 'cut-1' });
  await placeButton(page).click();
  const commandId = await shownCommand(page);
  await page.unroute('**/v1/predictions/orders');
  expect(keys).toEqual([keys[0], keys[0]]);
  await eventually(async () => expect(await decisionsOf(running, commandId)).toEqual(['accepted']));
  expect(await commandCount(service)).toBe(before + 1);
  const { body } = await eventually(async () => {
    const answer = await call(service, 'GET', `/v1/commands/${commandId}`);
    expect(answer.body.result).toBe('applied');
    return answer;
  });
  return body.orderId;
}

/**
 * Old → new before it is sent; then a cancel of an order that changed meanwhile says what changed,
 * and sends nothing until it was seen.
 */
async function replacesAndCancels({ rest, service }: RunningConsole, page: Page, orderId: string): Promise<void> {
  await page.goto(`${rest}/console/orders/prediction/${orderId}`);
  await page.getByRole('button', { name: 'Replace …' }).click();
  await page.getByLabel('Price', { exact: true }).fill('0.02');
  await page.getByRole('listitem').filter({ hasText: 'Price 0.01 → 0.02' }).waitFor();
  await page.getByText('would not refuse this replace now').waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Replace', exact: true }).click();
  const order = async () => (await call(service, 'GET', `/v1/orders/prediction/${orderId}`)).body.order;
  await eventually(async () => expect((await order()).working).toMatchObject({ quantity: '10', price: '0.02' }));
  await page.getByText('Your replace').waitFor();
  await page.getByRole('button', { name: 'Cancel order …' }).click();
  const other = { body: { accountId, price: '0.03' }, wait: 20 };
  expect((await call(service, 'PATCH', `/v1/predictions/orders/${orderId}`, other)).body.result).toBe('applied');
  await page.getByRole('button', { name: 'Cancel the order' }).click();
  await page.getByText('The order has changed since you opened this, so nothing was sent.').waitFor();
  await page.getByRole('listitem').filter({ hasText: '0.03' }).first().waitFor();
  expect((await order()).status).toBe('new');
  await page.getByRole('button', { name: 'Cancel the order' }).click();
  await page.getByText('Your cancel').waitFor();
  await eventually(async () => expect((await order()).status).toBe('canceled'));
  // The platform decides about a cancel, whatever is believed of the order.
  await page.getByRole('button', { name: 'Cancel order …' }).waitFor();
  const kinds = page.getByRole('table', { name: 'Commands' }).locator('tbody .kind');
  await eventually(async () =>
    expect(await kinds.allTextContents()).toEqual(['cancel', 'replace', 'replace', 'place']),
  );
}

/**
 * Two legs, in the order in which they stand on the ticket; the
 * side of the whole is that of the first.
 */
async function placesOption(running: RunningConsole, page: Page): Promise<void> {
  const { rest, service, sandbox } = running;
  await page.goto(`${rest}/console/place?accountId=${accountId}&symbol=AAPL`);
  await page.getByRole('button', { name: 'Option' }).click();
  await page.getByRole('button', { name: 'Add a leg' }).click();
  const legs = [
    { symbol: listedOption('C', 200), side: 'BUY', ratioQty: '2', positionEffect: 'OPEN' },
    { symbol: listedOption('C', 210), side: 'SELL', ratioQty: '1', positionEffect: 'OPEN' },
  ];
  for (const [at, { symbol, side, ratioQty, positionEffect }] of legs.entries())
    await fillTicket(page.getByRole('group', { name: `Leg ${at + 1}` }), {
      ...{ 'Option symbol': symbol, Side: side, Ratio: ratioQty, Position: positionEffect },
    });
  await fillTicket(page, {
    'Quantity of the whole': '3',
    'Net price': '0.01',
    'Time in force': 'GTC',
    'Your reference': 'legs-1',
  });
  await expectAccessible(page);
  expect(JSON.parse((await page.getByLabel('Body of the request').textContent()) ?? '')).toMatchObject({
    side: 'BUY',
    qty: '3',
    legs,
  });
  await placeButton(page).click();
  const commandId = await shownCommand(page);
  await eventually(async () => expect(await decisionsOf(running, commandId)).toEqual(['accepted']));
  await statusOf(page, 'applied').waitFor();
  const { orderId } = (await call(service, 'GET', `/v1/commands/${commandId}`)).body;
  const atPlatform = await controlLines(sandbox, `/state?stream=account&accountId=${accountId}`);
  expect(atPlatform.filter((line) => line.orderId === orderId)).toMatchObject([
    { closed: false, order: { securityType: 'MLEG', symbol: 'AAPL', side: 'BUY' } },
  ]);
}

/**
 * Halt, cancel-all and resume of one account, each to its
 * effect; a halt from elsewhere shows by itself.
 */
async function stops({ rest, service, sandbox }: RunningConsole, page: Page): Promise<void> {
  await page.goto(`${rest}/console/risk`);
  await page.getByRole('cell', { name: 'AAPL', exact: true }).first().waitFor();
  const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: `${accountId} simulated` }) });
  await row.getByText('not halted').waitFor();
  await page.getByRole('button', { name: `Halt ${accountId}` }).click();
  await expectAccessible(page);
  await confirm(page, accountId, 'Halt');
  await row.getByText('a drill').waitFor();
  expect((await call(service, 'GET', '/v1/halts')).body.halts).toMatchObject([
    { scope: { accountId }, reason: 'a drill' },
  ]);
  await call(service, 'POST', '/v1/halt', { body: { reason: 'from elsewhere' } });
  await page.getByText('from elsewhere').waitFor();

  const open = async () =>
    (await call(service, 'GET', `/v1/orders?open=true&accountId=${accountId}`)).body.items.length;
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

/** Ann asks and Ben approves, each in a browser of their own. */
const people = ['ann', 'ben'] as const;
const fourEyes = {
  TIDEMARK_FOUR_EYES: 'on',
  TIDEMARK_AUTH_TOKENS: people
    .map((name) => `${name}:${sha256(`token-of-${name}`)}:orders:read,orders:write,ops:read,ops:write:*`)
    .join(' '),
};

async function signIn(
  browser: RunningConsole['browser'],
  address: string,
  name: (typeof people)[number],
): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(address);
  await page.getByLabel('Token').fill(`token-of-${name}`);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

/** In the browser of the second person. */
async function approves(page: Page, action: RegExp): Promise<void> {
  await page.getByRole('button', { name: action }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('ann gave this reason').waitFor();
  await expectAccessible(page);
  await dialog.getByLabel('Reason, for the record').fill('seen by me');
  await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('Approved and done').waitFor();
}

/**
 * Not done when it is asked for, and done by the approval: placing is
 * resumed, and the platform takes an order again.
 */
async function resumesByTwo(running: RunningConsole, ann: Page, ben: Page): Promise<void> {
  const { rest, service, token = '' } = running;
  const row = ann.getByRole('row').filter({ has: ann.getByRole('rowheader', { name: `${accountId} simulated` }) });
  await ann.getByRole('button', { name: `Halt ${accountId}` }).click();
  await confirm(ann, accountId, 'Halt');
  await ann.getByRole('button', { name: `Resume ${accountId}` }).click();
  await confirm(ann, accountId, 'Resume');
  await ann.getByText('a second person has to approve. Nothing was done yet.').waitFor();
  await ann.getByText('asked for by you: another person has to approve').waitFor();
  expect(await ann.getByRole('button', { name: /^Approve/ }).count()).toBe(0);
  expect((await call(service, 'GET', '/v1/halts', { token })).body.halts).toMatchObject([{ scope: { accountId } }]);
  await approves(ben, /^Approve: resume placing on SIM-1001/);
  await row.getByText('not halted').waitFor();
  await ann.getByText('asked for by you').waitFor({ state: 'detached' });
  expect((await call(service, 'GET', '/v1/halts', { token })).body.halts).toEqual([]);
  await ann.goto(`${rest}/console/place?accountId=${accountId}&symbol=AAPL&quantity=7`);
  await fillTicket(ann, { Side: 'BUY', Price: '1.00', 'Time in force': 'GTC' });
  await placeButton(ann).click();
  const commandId = await shownCommand(ann);
  await eventually(async () => expect(await decisionsOf(running, commandId)).toEqual(['accepted']));
}

/** The command stays open until the second person has approved what the first says of it. */
async function resolvesByTwo(running: RunningConsole, ann: Page, ben: Page): Promise<void> {
  const { rest, service, world, token = '' } = running;
  const commandId = await placeWithout(running, { applied: 'no' }, { symbol: 'MSFT', clientId: 'lost-2' });
  await ann.goto(`${rest}/console/commands/${commandId}`);
  await ann.getByRole('button', { name: 'Resolve by hand' }).click();
  await ann.getByRole('dialog').getByRole('combobox').selectOption('rejected');
  await ann.getByLabel('Reason, for the record').fill('the support says: never received');
  await ann.getByRole('button', { name: 'Resolve', exact: true }).click();
  await ann.getByText('It is not resolved yet: a second person has to approve it.').waitFor();
  await statusOf(ann, 'not known').waitFor();
  const command = async () => (await call(service, 'GET', `/v1/commands/${commandId}`, { token })).body;
  expect((await command()).result).toBe('unknown');
  await approves(ben, new RegExp(`^Approve: resolve command ${commandId}`));
  await statusOf(ann, 'rejected').waitFor();
  expect(await command()).toMatchObject({
    state: 'rejected',
    recomputed: { state: 'rejected', because: 'person', agrees: true },
  });
  expect(await decisionsOf(running, commandId)).toEqual(['not_applied']);
  expect(await world.query('select requested_by, approved_by from approvals order by requested_at')).toEqual([
    { requested_by: 'ann', approved_by: 'ben' },
    { requested_by: 'ann', approved_by: 'ben' },
  ]);
}

describe('actions of the console in Chromium', () => {
  it('shows what became of commands whose answer was lost, and lets a person act on them', async () => {
    const { service, rest, browser } = running();
    const page = await browser.newPage();
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${rest}/console/commands`);
    await page.getByText('No command has been given yet.').waitFor();
    await expectAccessible(page);

    // One that lands later: it appears in the list, and resolves before the eyes of the reader.
    const landed = await placeWithout(
      running(),
      { applied: 'late', delayMs: 4_000 },
      { symbol: 'AAPL', clientId: 'landed-1' },
    );
    const row = page.getByRole('row').filter({ hasText: 'landed-1' });
    await row.getByText('buy 5 AAPL limit at 1, gtc').waitFor();
    await page.getByRole('status').getByText('1 command unresolved').waitFor();
    await row.getByRole('link').first().click();
    await statusOf(page, 'not known').waitFor();
    await page.getByText(/^The platform is (asked again in|being asked now)/).waitFor();
    await statusOf(page, 'applied').waitFor();
    await page.getByText('Both agree.').waitFor();
    await page.getByText('An order with the reference of this attempt is there').first().waitFor();
    expect(await page.locator('.timeline h3').allTextContents()).toEqual([
      'Asked for',
      expect.stringMatching(/^Attempt 1 tm-/),
    ]);

    // Its order, and back.
    await page.locator('.terms a.id').first().click();
    await page.getByRole('heading', { name: 'Versions' }).waitFor();
    await page.getByRole('link', { name: landed }).click();
    await statusOf(page, 'applied').waitFor();

    // One that never arrives: the platform is asked, which proves nothing, and a person resolves
    // it.
    const lost = await placeWithout(running(), { applied: 'no' }, { symbol: 'MSFT', clientId: 'lost-1' });
    await page.goto(`${rest}/console/commands/${lost}`);
    await statusOf(page, 'not known').waitFor();
    await page.getByRole('button', { name: 'Ask the platform now' }).click();
    await page.getByText('It brought no proof of a result.').waitFor();
    await page
      .getByText(/complete reads? did not show it/)
      .first()
      .waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Resolve by hand' }).click();
    await page.getByRole('dialog').getByRole('combobox').selectOption('rejected');
    await page.getByLabel('Reason, for the record').fill('the support says: never received');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Resolve', exact: true }).click();
    await statusOf(page, 'rejected').waitFor();
    await page.getByText('It is resolved by your word.').waitFor();
    await page.getByText('loopback resolved it as rejected').waitFor();
    await page.getByText('Both agree.').waitFor();
    expect(await page.getByRole('button', { name: 'Ask the platform now' }).count()).toBe(0);
    const { body } = await call(service, 'GET', `/v1/commands/${lost}`);
    expect(body).toMatchObject({
      state: 'rejected',
      recomputed: { state: 'rejected', because: 'person', agrees: true },
    });

    // The search finds the first one by its reference, from this page, by
    // keys alone; then its order is cancelled.
    await page.keyboard.press('/');
    await page.keyboard.type('landed-1');
    await page.getByRole('option').filter({ hasText: 'Command' }).filter({ hasText: 'landed-1' }).waitFor();
    await page.getByRole('option').filter({ hasText: 'Order' }).first().waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await statusOf(page, 'applied').waitFor();
    expect(new URL(page.url()).pathname).toBe(`/console/commands/${landed}`);
    await page.getByRole('button', { name: 'Cancel the order' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the order' }).click();
    await page.getByRole('heading', { name: /^Cancel of an order/ }).waitFor();
    await statusOf(page, 'applied').waitFor();
    const placed = await call(service, 'GET', `/v1/commands/${landed}`);
    expect(placed.body.orderStatus).toBe('canceled');

    // The list again: everything is resolved, and a filter narrows it.
    await page.getByRole('link', { name: 'Commands' }).first().click();
    await page.getByRole('status').getByText('none unresolved').waitFor();
    expect(await page.locator('tbody tr').count()).toBe(3);
    await page.getByLabel('Any result').selectOption('rejected');
    await page.getByRole('row').filter({ hasText: 'lost-1' }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(1);
    expect(new URL(page.url()).search).toBe('?state=rejected');
    await expectAccessible(page);
  });

  it('places, replaces, cancels, halts and cancels all, each once and to its effect at the platform', async () => {
    const page = await running().browser.newPage();
    await showsWhatItComesTo(running(), page);
    await placesOnce(running(), page);
    const orderId = await placesOnceOverACut(running(), page);
    await replacesAndCancels(running(), page, orderId);
    await placesOption(running(), page);
    await stops(running(), page);
  });

  it('needs a second person in another browser where four eyes are on, and does nothing before', async () => {
    expect(await running().service.stop()).toBe(0);
    const service = await running().world.serve(fourEyes);
    await service.waitLive();
    const guarded = { ...running(), service, rest: await service.restAddress(), token: 'token-of-ann' };
    const ann = await signIn(guarded.browser, `${guarded.rest}/console/risk`, 'ann');
    const ben = await signIn(await launchConsole(), `${guarded.rest}/console/risk`, 'ben');
    await resumesByTwo(guarded, ann, ben);
    await resolvesByTwo(guarded, ann, ben);
    expect(await service.stop()).toBe(0);
  });

  it('shows no action to a reader without its right', async () => {
    const token = { name: 'desk', sha256: sha256('secret'), scopes: ['orders:read', 'ops:read'], accounts: ['ACC-1'] };
    const rig = await startRest({ withConsole: true, auth: { tokens: [token] } });
    onTestFinished(() => rig.server.drain(new AbortController().signal));
    rig.reads.addUpdate({ orderId: 'mine', accountId: 'ACC-1' });
    rig.server.wake();
    const page = await running().browser.newPage();
    await page.goto(`${rig.address}/console/orders/account/mine`);
    await page.getByLabel('Token').fill('secret');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Versions' }).waitFor();
    expect(await page.getByRole('button', { name: /Cancel|Replace/ }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Place' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Risk' }).click();
    await page.getByRole('heading', { name: 'Halts', exact: true }).waitFor();
    await page.getByRole('rowheader', { name: 'All accounts' }).waitFor();
    expect(await page.getByRole('button', { name: /Halt|Resume|Cancel all|Approve/ }).count()).toBe(0);
    await page.goto(`${rig.address}/console/place`);
    await page.getByText('Orders cannot be placed here').waitFor();
  });
});
