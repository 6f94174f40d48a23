import { expect, it } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { runningSandbox } from '../support/platform/sandbox.ts';
import { launchConsole } from '../support/rest/console-browser.ts';
import { expectAccessible } from '../support/rest/expect-accessible.ts';
import { eventually } from '../support/runs/poll.ts';
import { World } from '../support/runs/service-under-test.ts';

// One way through it. Its other screens, its actions, sign-in and load are in
// test/deep/console*.deep.ts.
it('the console in Chromium shows the live orders of a real service, and the versions of one of them', async () => {
  const { description } = await runningSandbox({ market: { rate: 20, openOrders: 20, knownOrders: 60 } });
  const world = await World.create({ platform: platformSettings(description) });
  const service = await world.serve();
  await service.waitLive();
  const rest = await service.restAddress();
  const page = await (await launchConsole()).newPage();
  await page.goto(`${rest}/`);
  expect(new URL(page.url()).pathname).toBe('/console');
  await page.getByRole('group', { name: 'Trust' }).getByText('Trusted').waitFor();
  await page.locator('.rows .row').nth(5).waitFor();
  const first = () => page.locator('.rows .row').first().getAttribute('id');
  const before = await first();
  await eventually(async () => expect(await first()).not.toBe(before));
  // By the keys alone: pause, take the second row, open it.
  await page.keyboard.press('p');
  await page.getByRole('button', { name: /^Paused, [1-9]/ }).waitFor();
  await expectAccessible(page);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Versions' }).waitFor();
  const path = new URL(page.url()).pathname.replace('/console/', '/v1/');
  // The market goes on, so that the page may be one revision ahead of an answer, or behind it.
  await eventually(async () => {
    const { items } = (await (await fetch(`${rest}${path}/updates?limit=500`)).json()) as {
      items: { revision: number }[];
    };
    const shown = await page.locator('.rung-number b').allTextContents();
    expect(shown).toEqual(items.map(({ revision }) => String(revision)).reverse());
  });
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await page.locator('.rows .row').first().waitFor();
});
