// What a user saw: "Approve" vanished while one typed; Enter on "Columns" opened an order instead.

import { expect, it, onTestFinished } from 'vitest';
import { launchConsole } from '../support/rest/console-browser.ts';
import { startRest } from '../support/rest/rest-rig.ts';

const approval = {
  ...{ approvalId: 'a-1', by: 'ann', reason: 'a drill', action: { kind: 'resume' }, accountId: 'ACC-1' },
  ...{ requestedAt: '2026-11-21T15:00:00.000Z', expiresAt: '2026-11-21T16:00:00.000Z' },
};

async function opened() {
  const rig = await startRest({ withConsole: true, stream: { pollEveryMs: 20, pollGapMs: 1 } });
  onTestFinished(() => rig.server.drain(new AbortController().signal));
  const page = await (await launchConsole()).newPage();
  return { rig, page };
}

it('a dialog stays while its list cannot be read, or is empty', async () => {
  const { rig, page } = await opened();
  let answer: { status?: number; json: object } = { json: { items: [approval] } };
  await page.route('**/v1/approvals', (route) => route.fulfill(answer));
  await page.goto(`${rig.address}/console/risk`);
  await page.getByRole('button', { name: /^Approve/ }).click();
  const reason = page.getByRole('dialog').getByLabel('Reason, for the record');
  await reason.fill('I have');
  answer = { status: 503, json: {} };
  await page.getByText('The approvals could not be read.').waitFor();
  expect(await reason.inputValue()).toBe('I have');
  answer = { json: { items: [] } };
  await page.getByText('The approvals could not be read.').waitFor({ state: 'hidden' });
  expect(await reason.inputValue()).toBe('I have');
  await page.getByRole('button', { name: 'Not now' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
});

it('Enter on “Columns” opens the columns, and each screen has a title', async () => {
  const { rig, page } = await opened();
  rig.reads.addUpdate({ orderId: 'o-1' });
  rig.server.wake();
  await page.goto(`${rig.address}/console`);
  await page.locator('.rows .row').first().waitFor();
  await page.keyboard.press('j');
  await page.locator('summary', { hasText: 'Columns' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('details[open]', { hasText: 'Columns' }).waitFor();
  expect([new URL(page.url()).pathname, await page.title()]).toEqual(['/console', 'Orders – Tidemark']);
  await page.getByRole('link', { name: 'Risk' }).click();
  await page.waitForFunction('document.title === "Risk – Tidemark"');
});
