// What a user saw: "Approve" vanished while one typed; Enter on "Columns" opened an order instead.

import { expect, it, onTestFinished } from 'vitest';
import { launchConsole } from '../support/rest/console-browser.ts';
import { startRest } from '../support/rest/rest-rig.ts';
import { eventually } from '../support/runs/poll.ts';

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

it('a press counts although a line comes above its button meanwhile', async () => {
  const { rig, page } = await opened();
  const held: (() => void)[] = [];
  await page.route('**/v1/approvals', async (route) => {
    const isFirst = held.length === 0;
    await new Promise<void>((resolve) => held.push(resolve) && isFirst && resolve());
    await route.fulfill({ json: { items: isFirst ? [] : [approval] } });
  });
  await page.goto(`${rig.address}/console/risk`);
  const button = page.getByRole('button', { name: 'Halt all accounts' });
  await eventually(() => expect(held.length).toBeGreaterThan(1));
  const { x = 0, y = 0, height = 0 } = (await button.boundingBox()) ?? {};
  await page.mouse.move(x + height / 2, y + height / 2);
  await page.mouse.down();
  // Drawn under the press, it would take the button away from the pointer.
  const answered = page.waitForResponse(/approvals$/);
  for (const answer of held) answer();
  await (await answered).finished();
  await page.mouse.up();
  await page.getByRole('dialog').getByText('Halt placing on all accounts?').waitFor();
  await page.getByText('Waiting for a second person').waitFor();
});

it('a dialog that is asked for before the event of the last one’s end is open', async () => {
  const { rig, page } = await opened();
  await page.goto(`${rig.address}/console/risk`);
  await page.getByRole('button', { name: 'Halt all accounts' }).click();
  await page.getByRole('button', { name: 'Not now' }).waitFor();
  await page.evaluate(`(async () => {
    const press = (text) => [...document.querySelectorAll('button')].find((each) => each.textContent.includes(text)).click();
    press('Not now');
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    press('Cancel all');
    await new Promise((resolve) => setTimeout(resolve, 50));
  })()`);
  await page.getByRole('dialog').getByText('Cancel the open orders of all accounts?').waitFor();
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
