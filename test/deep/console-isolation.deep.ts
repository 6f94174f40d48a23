import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import type { PrincipalToken } from '../../src/store/principals.ts';
import { atEnd, forFile } from '../support/commands/at-end.ts';
import { launchConsole } from '../support/rest/console-browser.ts';
import { sha256, startRest } from '../support/rest/rest-rig.ts';
import { eventually } from '../support/runs/poll.ts';

/** Two desks, each with an account and a browser of its own. */
const desks = ['ONE', 'TWO'] as const;
type Desk = (typeof desks)[number];
const tokenOf = (desk: Desk, secret = `secret-${desk}`): PrincipalToken => ({
  name: `desk-${desk}`,
  sha256: sha256(secret),
  scopes: ['orders:read', 'orders:write', 'ops:read', 'ops:write'],
  accounts: [`ACC-${desk}`],
});

/** The clock of the service, which a test may put forward. */
const ahead = { ms: 0 };
const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + ahead.ms };

let tokens = desks.map((desk) => tokenOf(desk));
const parts = forFile(async () => {
  const rig = await startRest({
    clock,
    withConsole: true,
    principals: { active: async () => tokens },
    stream: { pollEveryMs: 20, pollGapMs: 1 },
  });
  atEnd(() => rig.server.drain(new AbortController().signal));
  for (const desk of desks) add(rig, desk, 'first');
  return { rig, ONE: await launchConsole(), TWO: await launchConsole() };
});

/** An order in which every text that a desk can choose names the desk. */
function add(rig: Awaited<ReturnType<typeof startRest>>, desk: Desk, name: string): void {
  const order = {
    orderId: `${name}-of-${desk}`,
    accountId: `ACC-${desk}`,
    clOrdId: `ref-of-${desk}`,
    placedBy: `person-of-${desk}`,
  };
  rig.reads.addUpdate({ ...order, instrument: { kind: 'equity', symbol: `OF${desk}` } });
  rig.server.wake();
}

async function signedIn(
  desk: Desk,
  secret = `secret-${desk}`,
): Promise<{ readonly page: Page; readonly bodies: Promise<string>[] }> {
  const { rig, [desk]: browser } = parts();
  const page = await browser.newPage();
  const bodies: Promise<string>[] = [];
  page.on('response', (response) => {
    // The stream has no end; the rows that it brings are read on the page.
    if (response.url().includes('/v1/') && !response.url().includes('/v1/stream'))
      bodies.push(response.text().catch(() => ''));
  });
  await page.goto(`${rig.address}/console?text=of`);
  await page.getByLabel('Token').fill(secret);
  await page.keyboard.press('Enter');
  await rowWith(page, `first-of-${desk}`).waitFor();
  return { page, bodies };
}

const rowWith = (page: Page, text: string) => page.locator('.rows .row').and(page.locator(`[id*="${text}"]`));
const textOf = (page: Page) => page.evaluate('document.documentElement.outerHTML').then(String);

const addresses = [
  '',
  '/commands',
  '/risk',
  '/place',
  '/accounts',
  '/pipeline',
  '/deadLetters',
  '/break-it',
  '/anything',
];

describe('two desks in two browsers', () => {
  it('see their own orders live, and nothing of the other by any screen or request', async () => {
    const one = await signedIn('ONE');
    const two = await signedIn('TWO');
    for (const desk of desks) add(parts().rig, desk, 'later');
    await rowWith(one.page, 'later-of-ONE').waitFor();
    await rowWith(two.page, 'later-of-TWO').waitFor();
    const foreign = /of-?TWO|ACC-TWO|desk-TWO/i;
    for (const address of addresses) {
      await one.page.goto(`${parts().rig.address}/console${address}`);
      await one.page.getByRole('button', { name: 'Sign out' }).waitFor();
      await one.page.waitForLoadState('load');
      expect(await textOf(one.page), address).not.toMatch(foreign);
    }
    await one.page.goto(`${parts().rig.address}/console/orders/account/later-of-TWO`);
    await one.page.getByText('There is no such order').waitFor();
    const bodies = await Promise.all(one.bodies);
    expect(bodies.length).toBeGreaterThan(addresses.length);
    // The order that the reader asked for is named in the address only.
    expect(bodies.filter((body) => foreign.test(body))).toEqual([]);
  });

  it('are independent: a token that is revoked signs its reader out and forgets what it showed, and the other goes on', async () => {
    const one = await signedIn('ONE');
    const two = await signedIn('TWO');
    tokens = [tokenOf('TWO')];
    // The stream says it, or a request that comes before.
    await one.page
      .getByRole('alert')
      .getByText(/revoked|not accepted any more/)
      .waitFor();
    expect(await textOf(one.page)).not.toMatch(/of-ONE|ACC-ONE/);
    expect(await one.page.evaluate('sessionStorage.length')).toBe(0);
    add(parts().rig, 'TWO', 'last');
    await rowWith(two.page, 'last-of-TWO').waitFor();
  });

  it('are signed out when their token has an end, with the reason', async () => {
    // Another one: the first was revoked above, and a token that has ended stays so.
    const secret = 'second-secret-ONE';
    tokens = [{ ...tokenOf('ONE', secret), expiresAtMs: systemClock.nowMs() + 3_600_000 }];
    // The service reads its tokens every 2 s.
    const headers = { authorization: `Bearer ${secret}` };
    await eventually(async () => expect((await fetch(`${parts().rig.address}/v1/me`, { headers })).status).toBe(200));
    const { page } = await signedIn('ONE', secret);
    ahead.ms = 3_600_000;
    await page
      .getByRole('alert')
      .getByText(/expired|not accepted any more/)
      .waitFor();
    expect(await textOf(page)).not.toMatch(/of-ONE|ACC-ONE/);
  });
});
