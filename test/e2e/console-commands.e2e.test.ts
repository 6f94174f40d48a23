import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import type { SandboxDescription } from '../../src/sandbox/describe-sandbox.ts';
import { openConsole } from '../support/console-browser.ts';
import { expectAccessible } from '../support/expect-accessible.ts';
import { call } from '../support/rest-call.ts';
import { control, runningSandbox } from '../support/sandbox.ts';
import { platformOf, type RunningService, World } from '../support/service-under-test.ts';

/** Far below every market: it rests. */
const resting = { accountId: 'SIM-1001', side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };

async function started() {
  const { description } = await runningSandbox({ market: { rate: 5 } });
  const world = await World.create({ platform: platformOf(description), env: { TIDEMARK_COMMANDS: 'on' } });
  const service = await world.serve();
  await service.waitLive();
  const page = await openConsole();
  await page.setViewportSize({ width: 1440, height: 900 });
  return { sandbox: description, service, page, rest: await service.restAddress() };
}

/** A place whose answer is a 504; `rule` says whether it is done all the same. */
async function placeWithout(answerTo: { sandbox: SandboxDescription; service: RunningService }, rule: object, body: object) {
  const { sandbox, service } = answerTo;
  await control(sandbox, '/faults', { rules: [{ on: 'write', fault: 'outcome_unknown', write: 'place', ...rule }] });
  const { body: command } = await call(service, 'POST', '/v1/orders', { body: { ...resting, ...body } });
  expect(command.outcome).toBe('unknown');
  return command.commandId as string;
}

const statusOf = (page: Page, words: string) => page.locator('h1 .status').getByText(words, { exact: true });

it('shows what became of commands whose answer was lost, and lets a person act on them', async () => {
  const { sandbox, service, page, rest } = await started();
  await page.goto(`${rest}/console/commands`);
  await page.getByText('No command has been given yet.').waitFor();
  await expectAccessible(page);

  // One that lands later: it appears in the list, and settles before the eyes of the reader.
  const landed = await placeWithout(
    { sandbox, service },
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
  expect(await page.locator('.timeline h3').allTextContents()).toEqual(['Asked for', expect.stringMatching(/^Attempt 1 tm-/)]);

  // Its order, and back.
  await page.locator('.terms a.id').first().click();
  await page.getByRole('heading', { name: 'Versions' }).waitFor();
  await page.getByRole('link', { name: landed }).click();
  await statusOf(page, 'applied').waitFor();

  // One that never arrives: the platform is asked, which proves nothing, and a person settles it.
  const lost = await placeWithout({ sandbox, service }, { applied: 'no' }, { symbol: 'MSFT', clientId: 'lost-1' });
  await page.goto(`${rest}/console/commands/${lost}`);
  await statusOf(page, 'not known').waitFor();
  await page.getByRole('button', { name: 'Ask the platform now' }).click();
  await page.getByText('It brought no proof of an outcome.').waitFor();
  await page
    .getByText(/complete reads? did not show it/)
    .first()
    .waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Settle by hand' }).click();
  await page.getByRole('dialog').getByRole('combobox').selectOption('rejected');
  await page.getByLabel('Reason, for the record').fill('the support says: never received');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Settle', exact: true }).click();
  await statusOf(page, 'rejected').waitFor();
  await page.getByText('It is settled by your word.').waitFor();
  await page.getByText('loopback settled it as rejected').waitFor();
  await page.getByText('Both agree.').waitFor();
  expect(await page.getByRole('button', { name: 'Ask the platform now' }).count()).toBe(0);
  const { body } = await call(service, 'GET', `/v1/commands/${lost}`);
  expect(body).toMatchObject({ state: 'rejected', recomputed: { state: 'rejected', because: 'person', agrees: true } });

  // The search finds the first one by its reference, from this page, by keys alone; then its order is cancelled.
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

  // The list again: everything is settled, and a filter narrows it.
  await page.getByRole('link', { name: 'Commands' }).first().click();
  await page.getByRole('status').getByText('none unresolved').waitFor();
  expect(await page.locator('tbody tr').count()).toBe(3);
  await page.getByLabel('Any outcome').selectOption('rejected');
  await page.getByRole('row').filter({ hasText: 'lost-1' }).waitFor();
  expect(await page.locator('tbody tr').count()).toBe(1);
  expect(new URL(page.url()).search).toBe('?state=rejected');
  await expectAccessible(page);
  expect(await service.stop()).toBe(0);
}, 120_000);
