import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { statusText } from '../../src/console/parts/words.ts';
import { visibleAccounts } from '../../src/demo/proof/prove-run.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, controlLines, runningSandbox } from '../support/platform/sandbox.ts';
import { launchConsole } from '../support/rest/console-browser.ts';
import { call } from '../support/rest/rest-call.ts';
import { sha256 } from '../support/rest/rest-rig.ts';
import { eventually } from '../support/runs/poll.ts';
import { type RunningService, World } from '../support/runs/service-under-test.ts';
import { confirm, fillTicket, placeButton, shownCommand } from './parts/running-console.ts';

/** Five people, each with a browser of their own: two who trade, two at the risk desk, a reader. */
const people = {
  ada: { scopes: 'orders:read,orders:write,ops:read', accounts: 'SIM-1001' },
  bob: { scopes: 'orders:read,orders:write,ops:read', accounts: 'SIM-1003' },
  ann: { scopes: 'orders:read,orders:write,ops:read,ops:write', accounts: '*' },
  ben: { scopes: 'orders:read,orders:write,ops:read,ops:write', accounts: '*' },
  eve: { scopes: 'orders:read', accounts: 'SIM-1001' },
} as const;
type Name = keyof typeof people;
const names = Object.keys(people) as Name[];
/** One more at the risk desk, without a browser. */
const cleo = `cleo:${sha256('token-of-cleo')}:ops:read,ops:write:*`;
const token = (name: string) => `token-of-${name}`;
const tokens = names.map((name) => `${name}:${sha256(token(name))}:${people[name].scopes}:${people[name].accounts}`);

async function desk(address: string, name: Name): Promise<Page> {
  const page = await (await launchConsole()).newPage();
  await page.setViewportSize({ width: 1440, height: 4_000 });
  await page.goto(`${address}/console`);
  await page.getByLabel('Token').fill(token(name));
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

/** By the links of the page: what it has seen of the orders stays. */
const goTo = (page: Page, screen: string) =>
  page.getByRole('navigation').getByRole('link', { name: screen, exact: true }).click();

interface Market {
  readonly kind: 'Equity' | 'Prediction';
  /** As its fields are labelled and filled in. */
  readonly fields: Readonly<Record<string, string>>;
}

async function fillAndSend(page: Page, { kind, fields }: Market, quantity: number): Promise<void> {
  await goTo(page, 'Place');
  await page.getByRole('button', { name: kind }).click();
  await page.getByRole('option', { name: `${fields['Account']}, simulated` }).waitFor({ state: 'attached' });
  await fillTicket(page, { ...fields, Quantity: String(quantity) });
  await placeButton(page).click();
}

const isApplied = (page: Page) => page.locator('h1 .status').getByText('applied', { exact: true }).waitFor();

async function place(page: Page, market: Market, quantity: number): Promise<string> {
  await fillAndSend(page, market, quantity);
  const commandId = await shownCommand(page);
  await isApplied(page);
  return commandId;
}

/** From the page of its command: to the order, a replace, and a cancel. */
async function replaceOrCancel(page: Page, act: 'replace' | 'cancel'): Promise<void> {
  await page.locator('.terms a.id').first().click();
  if (act === 'replace') {
    await page.getByRole('button', { name: 'Replace …' }).click();
    await page.getByLabel('Price', { exact: true }).fill('0.02');
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    await page.getByText('Your replace').waitFor();
  } else {
    await page.getByRole('button', { name: 'Cancel order …' }).click();
    await page.getByRole('button', { name: 'Cancel the order' }).click();
    await page.getByText('Your cancel').waitFor();
  }
  const table = page.getByRole('table', { name: 'Commands' }).locator('tbody tr').first();
  await table.filter({ hasText: act }).getByText('applied', { exact: true }).waitFor();
}

/** Some orders of one trader, one after the other, some of them replaced or cancelled. */
async function trades(page: Page, market: Market): Promise<string[]> {
  const commands: string[] = [];
  const acts = market.kind === 'Equity' ? ['cancel', '', 'cancel', ''] : ['replace', 'cancel', '', 'replace'];
  for (const [at, act] of acts.entries()) {
    commands.push(await place(page, market, at + 3));
    if (act !== '') await replaceOrCancel(page, act as 'replace' | 'cancel');
  }
  return commands;
}

const rowOf = (page: Page, accountId: string) =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: `${accountId} simulated` }) });

/** Opens what waits for approval, and gives the reason. */
async function readyToApprove(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Approve: resume placing on SIM-1002/ }).click();
  await page.getByRole('dialog').getByLabel('Reason, for the record').fill('seen by me');
}

/** Both press the button at once: the words that each is given. */
function approveAtOnce(pages: readonly Page[]): Promise<string[]> {
  const press = async (page: Page): Promise<string> => {
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
    const words = page.getByText('Approved and done').or(dialog.getByRole('alert'));
    await words.waitFor();
    const text = (await words.textContent()) ?? '';
    if ((await dialog.count()) > 0) await dialog.getByRole('button', { name: 'Not now' }).click();
    return text;
  };
  return Promise.all(pages.map(press));
}

/** Orders by key, in the words of the page, the store and the platform alike. */
type Seen = Record<string, string>;

/** What a page shows of its open orders. */
async function shownOrders(page: Page): Promise<Seen> {
  const rows = await page.evaluate<[string, string][]>(`[...document.querySelectorAll('.rows .row')].map((row) => {
    const text = (name) => row.querySelector('.col-' + name).textContent.trim().replaceAll(',', '').split(' / ')[0];
    return [row.id, [text('account'), text('status'), text('working'), Number(text('at')), text('fill')].join(' ')];
  })`);
  return Object.fromEntries(rows.map(([id, text]) => [id.replace(/^row-/, ''), text]));
}

async function storedOrders(service: RunningService, name: Name): Promise<Seen> {
  const { body } = await call(service, 'GET', '/v1/orders?open=true&limit=500', { token: token(name) });
  return Object.fromEntries(
    // biome-ignore lint/suspicious/noExplicitAny: rows as they came
    body.items.map(({ stream, orderId, accountId, order }: any) => [
      `${stream}:${orderId}`,
      [accountId, statusText(order.status), order.working.quantity, Number(order.working.price), order.cumQty].join(
        ' ',
      ),
    ]),
  );
}

it('five desks at once: each does its work, sees its own, and ends with what the store and the platform have', async () => {
  const { description: sandbox } = await runningSandbox({
    accounts: 3,
    market: { rate: 5, openOrders: 12, knownOrders: 30 },
  });
  const world = await World.create({
    platform: platformSettings(sandbox),
    env: { TIDEMARK_COMMANDS: 'on', TIDEMARK_FOUR_EYES: 'on', TIDEMARK_AUTH_TOKENS: [...tokens, cleo].join(' ') },
  });
  const service = await world.serve();
  await service.waitLive();
  const rest = await service.restAddress();
  const [ada, bob, ann, ben, eve] = (await Promise.all(names.map((name) => desk(rest, name)))) as [
    Page,
    Page,
    Page,
    Page,
    Page,
  ];
  const halts = async () => (await call(service, 'GET', '/v1/halts', { token: token('ann') })).body.halts;
  await Promise.all([goTo(ann, 'Risk'), goTo(ben, 'Risk')]);
  const byCleo = async (method: string, path: string, body: object) =>
    (await call(service, method, path, { body: { ...body, reason: 'a drill' }, token: token('cleo') })).status;

  const risk = async () => {
    await ann.getByText('None are set.').waitFor();
    const limits = { accountId: 'SIM-1001', bounds: { maxQuantity: '50' } };
    expect(await byCleo('PATCH', '/v1/limits', limits)).toBe(200);
    await Promise.all([ann, ben].map((page) => page.getByRole('rowheader', { name: 'everyone, SIM-1001' }).waitFor()));
    await ann.getByRole('button', { name: 'Halt SIM-1002' }).click();
    await confirm(ann, 'SIM-1002', 'Halt');
    await rowOf(ben, 'SIM-1002').getByText('a drill').waitFor();
    // Both lift it at once: each has asked, and another person has to approve.
    await Promise.all(
      [ann, ben].map(async (page) => {
        await page.getByRole('button', { name: 'Resume SIM-1002' }).click();
        await confirm(page, 'SIM-1002', 'Resume');
        await page.getByText('a second person has to approve. Nothing was done yet.').waitFor();
        await page.getByText('asked for by you: another person has to approve').waitFor();
      }),
    );
    expect(await halts()).toHaveLength(1);
    // Each approves what the other has asked for, at once: placing is resumed, as both read.
    await Promise.all([readyToApprove(ann), readyToApprove(ben)]);
    expect(await approveAtOnce([ann, ben])).toEqual(Array(2).fill('Approved and done: resume placing on SIM-1002.'));
    expect(await halts()).toEqual([]);
    // Both approve the same thing at once: one does it, and the other reads that it is over.
    expect(await byCleo('POST', '/v1/accounts/SIM-1002/halt', {})).toBe(200);
    expect(await byCleo('POST', '/v1/accounts/SIM-1002/resume', {})).toBe(202);
    await Promise.all([readyToApprove(ann), readyToApprove(ben)]);
    expect((await approveAtOnce([ann, ben])).toSorted()).toEqual([
      'Approved and done: resume placing on SIM-1002.',
      'The service answers 404 APPROVAL_NOT_FOUND: there is no such request, or it has been approved or has expired.',
    ]);
    expect(await halts()).toEqual([]);
  };
  const equities: Market = {
    kind: 'Equity',
    fields: { Account: 'SIM-1001', Symbol: 'AAPL', Side: 'BUY', Price: '1.00', 'Time in force': 'GTC' },
  };
  const predictions: Market = {
    kind: 'Prediction',
    fields: {
      ...{ Account: 'SIM-1003', Market: sandbox.predictionSymbols[0] ?? '', Outcome: 'YES', Side: 'buy' },
      ...{ Price: '0.01', 'Time in force': 'gtc' },
    },
  };
  const [ofAda, ofBob] = await Promise.all([trades(ada, equities), trades(bob, predictions), risk()]);
  await fillAndSend(ada, equities, 60);
  await ada.getByText('Nothing was sent.').filter({ hasText: 'the limit maxQuantity is 50' }).waitFor();
  // A halt holds for the desk that trades there, and its page says so before it sends anything.
  expect(await byCleo('POST', '/v1/accounts/SIM-1003/halt', {})).toBe(200);
  await Promise.all(
    [bob, ann, ben].map((page) => page.getByRole('group', { name: 'Trust' }).getByText('Halted').waitFor()),
  );
  await fillAndSend(bob, predictions, 5);
  await bob.getByText('Nothing was sent.').filter({ hasText: 'halt' }).waitFor();
  expect(await ada.getByRole('group', { name: 'Trust' }).getByText('Halted').count()).toBe(0);
  await control(sandbox, '/rate', { rate: 0 });
  await world.resolvedProof(sandbox);

  // Each page has followed all of it without being loaded again.
  const visible = new Set(await visibleAccounts(fetch, sandbox));
  const atPlatform = (await controlLines(sandbox, '/state')).filter(({ closed }) => closed === false);
  const pages = { ada, bob, ann, ben, eve };
  for (const name of names) {
    await pages[name].getByRole('link', { name: 'Tidemark' }).click();
    const stored = await storedOrders(service, name);
    await eventually(async () => expect(await shownOrders(pages[name]), name).toEqual(stored));
    const { accounts } = people[name];
    const open = atPlatform
      .filter(({ accountId }) => (accounts === '*' ? visible.has(accountId) : accountId === accounts))
      .map(({ stream, orderId }) => `${stream}:${orderId}`);
    expect(Object.keys(stored).toSorted(), name).toEqual(open.toSorted());
  }
  // Each command was written once, whatever was done beside it.
  const decisions = await controlLines(sandbox, '/ledger?kind=decision');
  const references = decisions.map(({ reference }) => reference).filter((reference) => reference !== undefined);
  expect(new Set(references).size).toBe(references.length);
  expect([ofAda.length, ofBob.length]).toEqual([4, 4]);
  const links = (page: Page) => page.getByRole('navigation').getByRole('link').allTextContents();
  expect(await links(eve)).not.toEqual(expect.arrayContaining(['Place']));
  expect(await ada.getByRole('button', { name: /^(?:Halt|Resume|Approve)/ }).count()).toBe(0);
});
