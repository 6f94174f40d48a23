import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { systemClock } from '../src/runtime/clock.ts';
import type { Cleanup } from './cleanup.ts';
import { type FrameFigures, framesOf, type TraceEvent, traceCategories } from './frame-trace.ts';
import type { OrderSource } from './order-source.ts';
import { percentile } from './percentile.ts';

export interface ConsoleFigures {
  /** A page that does nothing but ask for every frame. */
  readonly empty: FrameFigures;
  readonly loaded: FrameFigures;
  /** After a whole collection: 10 s after the load began, in the middle, at the end. */
  readonly heapMb: readonly number[];
  readonly perSecond: number;
  readonly firstRowMs: number;
  readonly allRowsMs: number;
  /** From a key that moves the chosen row to the next frame. */
  readonly keyMs: { readonly p50: number; readonly highest: number };
  readonly connections: number;
  readonly resets: number;
  /** Every open order, with its newest revision, and no other. */
  readonly equal: boolean;
}

interface ConsoleOptions {
  readonly address: string;
  readonly source: OrderSource;
  readonly wake: () => void;
  readonly orders: number;
  readonly rate: number;
  readonly seconds: number;
  /** Where the processor profile of the page is written. */
  readonly profile?: string;
}

const stepMs = 10;
const size = { width: 1440, height: 900 };
/** Asks for every frame, so that the trace has one event for each. */
const everyFrame = 'const next = () => requestAnimationFrame(next); next();';

export async function measureConsole(cleanup: Cleanup, options: ConsoleOptions): Promise<ConsoleFigures> {
  const browser = await startBrowser(cleanup);
  const context = await browser.newContext({ viewport: size, acceptDownloads: true });
  const empty = await context.newPage();
  await empty.evaluate(everyFrame);
  const emptyFigures = await traced(browser, empty, () => systemClock.sleep(5_000));
  await empty.close();
  const page = await context.newPage();
  let connections = 0;
  page.on('request', (request) => {
    if (request.url().includes('/v1/stream')) connections += 1;
  });
  const shown = await loadPage(page, options);
  await page.evaluate(everyFrame);
  const cdp = await context.newCDPSession(page);
  const heapMb: number[] = [];
  const keys: number[] = [];
  const startMs = performance.now();
  const before = options.source.changes;
  const stop = startLoad(options);
  await systemClock.sleep(Math.min(10_000, options.seconds * 250));
  heapMb.push(await heapOf(cdp));
  const half = Math.max(1, (options.seconds * 1000 - (performance.now() - startMs)) / 2);
  if (options.profile !== undefined) await startProfile(cdp);
  const loaded = await traced(browser, page, () => pressKeys(page, keys, half));
  if (options.profile !== undefined) await endProfile(cdp, options.profile);
  heapMb.push(await heapOf(cdp));
  await systemClock.sleep(half);
  const perSecond = Math.round(((options.source.changes - before) * 1000) / (performance.now() - startMs));
  stop();
  heapMb.push(await heapOf(cdp));
  const resets = await page.locator('.note').count();
  const equal = await settlesEqual(page, options.source);
  const keyMs = { p50: percentile(keys, 0.5), highest: Math.max(0, ...keys) };
  return { empty: emptyFigures, loaded, heapMb, perSecond, ...shown, keyMs, connections, resets, equal };
}

async function startBrowser(cleanup: Cleanup): Promise<Browser> {
  const args = [
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
  ];
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', headless: true, args });
  cleanup.add(() => browser.close());
  return browser;
}

async function loadPage(page: Page, { address, orders }: ConsoleOptions) {
  const startMs = performance.now();
  await page.goto(`${address}/console`);
  await page.locator('.rows .row').first().waitFor();
  const firstRowMs = Math.round(performance.now() - startMs);
  await page.getByText(`${orders.toLocaleString('en')} orders`, { exact: true }).waitFor({ timeout: 120_000 });
  return { firstRowMs, allRowsMs: Math.round(performance.now() - startMs) };
}

/** Returns a function that ends it. */
export function startLoad({ source, wake, rate }: Pick<ConsoleOptions, 'source' | 'wake' | 'rate'>): () => void {
  const startMs = performance.now();
  const before = source.changes;
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startMs) * rate) / 1000);
    source.step(Math.max(0, due - (source.changes - before)));
    wake();
  }, stepMs);
  return () => clearInterval(timer);
}

async function traced(browser: Browser, page: Page, work: () => Promise<void>): Promise<FrameFigures> {
  await browser.startTracing(page, { categories: traceCategories });
  await work();
  const { traceEvents } = JSON.parse(String(await browser.stopTracing())) as {
    readonly traceEvents: readonly TraceEvent[];
  };
  return framesOf(traceEvents);
}

/**
 * A key every quarter of a second. Its answer is measured in the page, by the page's own clock, up
 * to the frame that shows it.
 */
async function pressKeys(page: Page, keys: number[], forMs: number): Promise<void> {
  await page.evaluate(
    "globalThis.keyTimes = []; addEventListener('keydown', (event) => requestAnimationFrame(() => setTimeout(() => keyTimes.push(performance.now() - event.timeStamp))), true);",
  );
  const untilMs = performance.now() + forMs;
  while (performance.now() < untilMs) {
    await page.keyboard.press('j');
    await systemClock.sleep(250);
  }
  keys.push(...(await page.evaluate<number[]>('keyTimes')));
}

async function heapOf(cdp: CDPSession): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage');
  const { usedSize } = await cdp.send('Runtime.getHeapUsage');
  return usedSize / 1024 / 1024;
}

async function startProfile(cdp: CDPSession): Promise<void> {
  await cdp.send('Profiler.enable');
  await cdp.send('Profiler.start');
}

async function endProfile(cdp: CDPSession, file: string): Promise<void> {
  const { profile } = await cdp.send('Profiler.stop');
  await writeFile(file, JSON.stringify(profile));
}

/**
 * By the page's own CSV: that is the way by which a reader gets all rows of a view. The last
 * updates may be under way.
 */
export async function settlesEqual(page: Page, source: OrderSource): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-csv-'));
  try {
    for (let tries = 0; tries < 20; tries += 1) {
      await systemClock.sleep(500);
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'CSV' }).click();
      const file = join(folder, `${tries}.csv`);
      await (await download).saveAs(file);
      if (isEqual(await readFile(file, 'utf8'), source)) return true;
    }
    return false;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function isEqual(csv: string, source: OrderSource): boolean {
  const [head = '', ...lines] = csv
    .replace(/^\u{feff}/u, '')
    .trimEnd()
    .split('\r\n');
  const names = head.split(',');
  const [id, revision, filled] = ['orderId', 'revision', 'cumQty'].map((name) => names.indexOf(name)) as [
    number,
    number,
    number,
  ];
  const shown = lines.map((line) => line.split(','));
  const newest = source.newest();
  return (
    shown.length === newest.size &&
    shown.every((cells) => newest.get(cells[id] ?? '') === `${cells[revision]} ${cells[filled]}`)
  );
}
