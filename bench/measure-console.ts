import { type Browser, chromium, type Page } from 'playwright-core';
import { systemClock } from '../src/runtime/clock.ts';
import { startLoad } from '../test/deep/parts/console-load.ts';
import { OrderSource } from '../test/deep/parts/order-source.ts';
import { startRest } from '../test/support/rest/rest-rig.ts';
import type { Bench, Figure } from './figure.ts';
import { percentile } from './percentile.ts';

const [orders, rate] = [100_000, 5_000];
/** A desk's list, and the same orders under the lines of their groups, which have sums. */
const views = { list: '', groups: '?group=account,symbol,side', 'sums alone': '?group=account,symbol&sums=only' };

/** What was seen on a page by itself: milliseconds. */
interface Seen {
  /** From one frame to the next. */
  readonly frames: readonly number[];
  /** From a key to the frame that shows what it did. */
  readonly keys: readonly number[];
}

// Read with `seen`, which begins anew.
const watchFrames = `(() => {
  let [frames, keys, last] = [[], [], undefined];
  const next = (now) => {
    if (last !== undefined) frames.push(now - last);
    last = now;
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
  addEventListener('keydown', ({ timeStamp }) =>
    requestAnimationFrame(() => setTimeout(() => keys.push(performance.now() - timeStamp))), true);
  globalThis.seen = () => { const all = { frames, keys }; [frames, keys] = [[], []]; return all; };
})()`;

/**
 * The blotter with 100,000 open orders and 5,000 updates a second, in Chromium, from the real REST
 * server over orders in memory. A page that only asks for each frame is the ground: a slow machine
 * drops frames of that too.
 */
export async function measureConsole({ cleanup, seconds }: Bench): Promise<Figure[]> {
  const source = new OrderSource(orders);
  const { server, address } = await startRest({
    withConsole: true,
    ports: { reads: source },
    stream: { pollGapMs: 5 },
  });
  cleanup.add(() => server.drain(new AbortController().signal));
  const browser = await startBrowser();
  cleanup.add(() => browser.close());
  const forMs = Math.min(seconds, 30) * 1000;
  const empty = await browser.newPage();
  await empty.evaluate(watchFrames);
  const ground = framesOf('an empty page', (await watched(empty, forMs / 3)).frames);
  await empty.close();
  const figures = [...ground];
  for (const [name, query] of Object.entries(views)) {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(`${address}/console${query}`);
    await page
      .getByText(`${source.newest().size.toLocaleString('en')} orders`, { exact: true })
      .waitFor({ timeout: 180_000 });
    await page.evaluate(watchFrames);
    const before = source.changes;
    const stop = startLoad({ source, rate, wake: () => server.wake() });
    // The first second compiles what the load runs.
    await systemClock.sleep(1000);
    await page.evaluate('void seen()');
    const { frames, keys } = await watched(page, forMs);
    stop();
    const made = (source.changes - before) / ((forMs + 1000) / 1000);
    figures.push(...framesOf(name, frames, `${Math.round(made)} updates/s`));
    figures.push({ name: `${name}: ms from a key to its frame, p50`, value: percentile(keys, 0.5) });
    if (query === '') figures.push(await groupingOf(page));
    await page.close();
  }
  return figures;
}

function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
  });
}

/** A key each quarter of a second. */
async function watched(page: Page, forMs: number): Promise<Seen> {
  const untilMs = systemClock.monotonicMs() + forMs;
  while (systemClock.monotonicMs() < untilMs) {
    await page.keyboard.press('j');
    await systemClock.sleep(250);
  }
  return page.evaluate<Seen>('seen()');
}

function framesOf(name: string, frames: readonly number[], note?: string): Figure[] {
  const figure = (what: string, value: number) => ({ name: `${name}: ms from frame to frame, ${what}`, value });
  return [
    { ...figure('p50', percentile(frames, 0.5)), ...(note !== undefined && { note }) },
    // No more than one is dropped in a row.
    { ...figure('p95', percentile(frames, 0.95)), atMost: 33.4 },
    figure('longest', Math.max(...frames)),
  ];
}

/** Until the frame that has the groups. */
async function groupingOf(page: Page): Promise<Figure> {
  await page.locator('summary', { hasText: 'Group' }).click();
  const value = await page.evaluate<number>(`new Promise((resolve) => {
    const began = performance.now();
    document.querySelector('.groups input').click();
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - began)));
  })`);
  await page.getByText('Group (1)').waitFor();
  return { name: 'ms to switch the groups on', value };
}
