import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { forFile } from '../support/commands/at-end.ts';
import { launchConsole } from '../support/rest/console-browser.ts';
import { expectAccessible } from '../support/rest/expect-accessible.ts';
import { startRest } from '../support/rest/rest-rig.ts';
import { eventually } from '../support/runs/poll.ts';

const browser = forFile(() => launchConsole());

async function opened() {
  const rig = await startRest({ withConsole: true, stream: { pollEveryMs: 20, pollGapMs: 1 } });
  onTestFinished(() => rig.server.drain(new AbortController().signal));
  const add = (over: Parameters<typeof rig.reads.addUpdate>[0]) => {
    rig.reads.addUpdate(over);
    rig.server.wake();
  };
  add({ orderId: 'evening', leavesQty: '60' });
  const page = await browser().newPage();
  await page.clock.install({ time: new Date('2026-11-29T21:30:00Z') });
  await page.goto(`${rig.address}/console`);
  await page.getByText('1 order', { exact: true }).waitFor();
  return { page, add };
}

const trust = (page: Page) => page.getByRole('group', { name: 'Trust' });

describe('a connection that is lost', () => {
  it.each([
    ['a minute', 60_000, '1 min \\d s', /1 min ([5-9]|1\d) s/],
    ['a night', 9 * 3_600_000, '9 h 0 min', /9 h 0 min/],
  ])('for %s: each screen says how old it is, and all is there again after it', async (_what, lostMs, age, later) => {
    const { page, add } = await opened();
    await page.context().setOffline(true);
    onTestFinished(() => page.context().setOffline(false));
    await page.clock.fastForward(lostMs);
    await trust(page).getByText('Stream cut').waitFor();
    const note = page.locator('.note').filter({ hasText: 'No word from the service since' });
    // As old as the last heartbeat, which was a moment before the cut.
    await note.getByText(new RegExp(`^${age}`)).waitFor();
    expect(await note.getByRole('alert').textContent()).toContain('look again before you send an order.');
    expect(await trust(page).textContent()).not.toContain('delay');
    await expectAccessible(page);
    // The alert itself does not change: a reader of the screen hears it once.
    const said = await note.getByRole('alert').textContent();
    await page.clock.fastForward(5_000);
    await note.getByText(later).waitFor();
    expect(await note.getByRole('alert').textContent()).toBe(said);
    await page.getByRole('navigation').getByRole('link', { name: 'Place' }).click();
    await page.getByRole('heading', { name: 'Place an order' }).waitFor();
    expect(await note.isVisible()).toBe(true);
    add({ orderId: 'evening', revision: 2, leavesQty: '10', cumQty: '90' });
    add({ orderId: 'over', status: 'canceled', leavesQty: '0' });
    add({ orderId: 'night' });
    await page.context().setOffline(false);
    await page.clock.fastForward(16_000);
    await note.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Tidemark' }).click();
    await page.getByText('2 orders', { exact: true }).waitFor();
    await page
      .getByRole('row')
      .filter({ hasText: 'evening' })
      .getByText('90 / 100')
      .or(page.locator('.col-left').getByText('10', { exact: true }))
      .first()
      .waitFor();
    await eventually(async () => expect(await trust(page).textContent()).not.toMatch(/Stream|Service silent/));
  });
});
