import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startRest } from '../support/rest/rest-rig.ts';
import { eventually } from '../support/runs/poll.ts';
import { openPage } from '../support/servers/browser.ts';
import { settlesEqual, startLoad } from './parts/console-load.ts';
import { OrderSource } from './parts/order-source.ts';

const source = new OrderSource(20_000);
let rig: Awaited<ReturnType<typeof startRest>>;

beforeAll(async () => {
  // Streams end after two seconds, so that updates are under way when the page connects again.
  const stream = { pollGapMs: 5, maxAgeMs: 2_000, heartbeatEveryMs: 500 };
  rig = await startRest({ withConsole: true, ports: { reads: source }, stream });
});
afterAll(() => rig.server.drain(new AbortController().signal));

it('shows each of 20,000 orders in its newest state after thousands of updates a second, in a small page', async () => {
  const page = await openPage({ script: true });
  await page.goto(`${rig.address}/console`);
  // The first updates come while the list is read.
  const stop = startLoad({ source, rate: 4_000, wake: () => rig.server.wake() });
  onTestFinished(stop);
  await page.locator('.rows .row').first().waitFor();
  const fetched = await page.evaluate<{ name: string; bytes: number }[]>(
    'performance.getEntries().filter((entry) => entry.encodedBodySize > 0).map(({ name, encodedBodySize: bytes }) => ({ name, bytes }))',
  );
  const console = fetched.filter(({ name }) => name.includes('/console'));
  // The page, its script, its style and how to sign in; some browsers fetch no icon.
  expect(console.length).toBeLessThanOrEqual(5);
  expect(console.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(90_000);
  await eventually(async () => expect(source.changes).toBeGreaterThan(20_000));
  // The sums are kept up as well, while all goes on.
  // Room for a line of each account and side.
  const usual = page.viewportSize() ?? { width: 1280, height: 720 };
  await page.setViewportSize({ ...usual, height: 1_600 });
  await page.goto(`${rig.address}/console?group=account&sums=only`);
  const sums = page.locator('.rows .group-name .soft');
  await sums.nth(19).waitFor();
  await eventually(async () => expect(source.changes).toBeGreaterThan(40_000));
  stop();
  expect(await settlesEqual(page, source)).toBe(true);
  // One more where the load ended between an order that began and one that ended.
  await page.getByText(`${source.newest().size.toLocaleString('en')} orders`, { exact: true }).waitFor();
  const counts = (await sums.allTextContents()).map((text) => Number(text.replace(/\D/g, '')));
  expect(counts.reduce((sum, count) => sum + count)).toBe(source.newest().size);
  await page.setViewportSize(usual);
  await page.goto(`${rig.address}/console`);
  await page.locator('.rows .row').nth(20).waitFor();
  expect(await page.locator('.rows .row').count()).toBeLessThan(100);
  await resizeColumns(page);
});

/** By the pointer, by keys, and back. */
async function resizeColumns(page: Awaited<ReturnType<typeof openPage>>): Promise<void> {
  const widths = () => new URL(page.url()).searchParams.get('widths');
  const heading = page.getByRole('columnheader', { name: 'Status' });
  const widthOf = async () => Math.round((await heading.boundingBox())?.width ?? 0);
  const edge = heading.locator('.edge');
  const box = await edge.boundingBox();
  const [x, y] = [(box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + 10];
  const before = await widthOf();
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 60, y, { steps: 3 });
  await page.mouse.up();
  await eventually(() => expect(widths()).toBe(`status:${before + 60}`));
  await heading.getByRole('button').focus();
  await page.keyboard.press('Shift+ArrowLeft');
  await eventually(() => expect(widths()).toBe(`status:${before + 44}`));
  expect(await widthOf()).toBe(before + 44);
  await page.reload();
  await page.locator('.rows .row').first().waitFor();
  expect(await widthOf()).toBe(before + 44);
  await page.getByText('Columns', { exact: true }).click();
  await page.getByRole('button', { name: 'Usual columns' }).click();
  await eventually(async () => expect([widths(), await widthOf()]).toEqual([null, before]));
  await page.keyboard.press('Escape');
  expect(await page.getByRole('button', { name: 'Usual columns' }).isVisible()).toBe(false);
}
