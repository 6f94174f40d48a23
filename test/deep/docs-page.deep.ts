import { expect, it } from 'vitest';
import { launchConsole } from '../support/rest/console-browser.ts';
import { expectAccessible } from '../support/rest/expect-accessible.ts';
import { startRest } from '../support/rest/rest-rig.ts';

it('the page of the documents has no fault for a reader of screens', async () => {
  const rig = await startRest();
  const page = await (await launchConsole()).newPage();
  await page.goto(`${rig.address}/docs`);
  // All of it open: what is closed is not looked at.
  const opened = 'for (const each of document.querySelectorAll("details")) each.open = true';
  await page.evaluate(opened);
  expect(await page.locator('details[open] table').count()).toBeGreaterThan(50);
  await expectAccessible(page);
  await rig.server.drain(new AbortController().signal);
});
