import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchConsole, openConsole } from '../support/console-browser.ts';
import { expectAccessible } from '../support/expect-accessible.ts';
import { eventually } from '../support/poll.ts';
import { type RestRigOptions, sha256, startRest } from '../support/rest-rig.ts';
import { runningSandbox } from '../support/sandbox.ts';
import { platformOf, World } from '../support/service-under-test.ts';

let browser: Awaited<ReturnType<typeof launchConsole>>;
beforeAll(async () => {
  browser = await launchConsole();
});
afterAll(() => browser.close());

/** Closed with the test. */
async function openTab(): Promise<Page> {
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  return page;
}

async function inMemory(options: RestRigOptions = {}) {
  const rig = await startRest({ withConsole: true, stream: { pollEveryMs: 20, pollGapMs: 1 }, ...options });
  onTestFinished(() => rig.server.drain(new AbortController().signal));
  const add = (over: Parameters<typeof rig.reads.addUpdate>[0]) => {
    rig.reads.addUpdate(over);
    rig.server.wake();
  };
  return { ...rig, add };
}

const rowWith = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

describe('the console in Chromium', () => {
  it('shows the live orders of a real service, and the versions of one of them', async () => {
    const { description } = await runningSandbox({ market: { rate: 20 } });
    const world = await World.create({ platform: platformOf(description) });
    const service = await world.serve();
    await service.waitLive();
    const page = await openConsole();
    const rest = await service.restAddress();
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
      const { items } = (await (await fetch(`${rest}${path}/updates?limit=500`)).json()) as { items: { revision: number }[] };
      const shown = await page.locator('.rung-number b').allTextContents();
      expect(shown).toEqual(items.map(({ revision }) => String(revision)).reverse());
    });
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.locator('.rows .row').first().waitFor();
  });

  it('shows hostile text as text, everywhere', async () => {
    const { address, add } = await inMemory();
    const evil = '"><img src=x onerror=alert(1)><script>alert(2)</script>';
    const reversed = `\u{202e}${evil}`;
    const long = 'x'.repeat(64 * 1024);
    const order = {
      orderId: 'evil-1',
      side: evil,
      statusRaw: evil,
      certaintyReason: long,
      rejectText: reversed,
      clOrdId: evil,
      placedBy: evil,
      ...{ accountId: evil, orderType: evil, timeInForce: evil, certainty: evil, pendingAction: evil },
      ...{ clientOrderRef: reversed, venueOrderId: reversed, rejectReason: long },
    };
    add({
      ...order,
      instrument: { kind: 'equity', symbol: evil },
      extra: { 'x<img src=x onerror=alert(3)>': reversed, big: long },
    });
    const page = await openTab();
    await page.goto(`${address}/console?text=${encodeURIComponent('<img')}&sort=${encodeURIComponent(evil)}`);
    await rowWith(page, '<img src=x').waitFor();
    await page.goto(`${address}/console/orders/account/evil-1`);
    await page.getByRole('heading', { name: 'Versions' }).waitFor();
    await page.getByText('Record', { exact: true }).click();
    expect(await page.locator('.rung pre').textContent()).toContain(evil.replaceAll('"', '\\"'));
    expect(await page.locator('img, script:not([src]):not([type=importmap])').count()).toBe(0);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  it('asks for a token, refuses a wrong one, keeps a good one for this tab, and forgets it at the end', async () => {
    const token = { name: 'desk', sha256: sha256('secret'), scopes: ['orders:read'], accounts: ['ACC-1'] };
    const { address, add } = await inMemory({ auth: { tokens: [token] } });
    add({ orderId: 'mine', accountId: 'ACC-1' });
    add({ orderId: 'foreign', accountId: 'ACC-2' });
    const page = await openTab();
    await page.goto(`${address}/console`);
    await page.getByLabel('Token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('does not accept').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Token').fill('secret');
    await page.keyboard.press('Enter');
    await rowWith(page, 'mine').waitFor();
    await page.reload();
    await rowWith(page, 'mine').waitFor();
    expect(await rowWith(page, 'foreign').count()).toBe(0);
    expect(page.url()).not.toContain('secret');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    expect(await page.evaluate('[sessionStorage.length, localStorage.length, document.cookie]')).toEqual([0, 0, '']);
  });

  it('filters by the address, and resumes after a cut without a lost or doubled row', async () => {
    const { address, add } = await inMemory({
      stream: { pollEveryMs: 20, pollGapMs: 1, maxAgeMs: 1_000, heartbeatEveryMs: 200 },
    });
    for (let at = 0; at < 30; at += 1) add({ orderId: `o-${at}`, side: at % 2 === 0 ? 'buy' : 'sell' });
    const page = await openTab();
    await page.goto(`${address}/console`);
    await page.getByText('30 orders').waitFor();
    await page.getByRole('combobox', { name: 'Side' }).selectOption('sell');
    await page.getByText('15 orders').waitFor();
    expect(new URL(page.url()).search).toBe('?side=sell');
    // The service ends each stream after a second; the page connects again and goes on by its id.
    for (let cut = 1; cut <= 3; cut += 1) {
      const connectedAgain = page.waitForRequest((request) => request.url().includes('/v1/stream'));
      for (let at = 0; at < 10; at += 1) add({ orderId: `cut-${cut}-${at}`, side: 'sell' });
      await connectedAgain;
    }
    await page.getByText('45 orders').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByText('60 orders').waitFor();
    expect(new URL(page.url()).search).toBe('');
  });
});
