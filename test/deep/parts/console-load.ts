import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { OrderSource } from './order-source.ts';

const stepMs = 10;

interface Load {
  readonly source: OrderSource;
  readonly wake: () => void;
  /** Changes a second. */
  readonly rate: number;
}

/** Makes so many changes a second. Returns a function that ends it. */
export function startLoad({ source, wake, rate }: Load): () => void {
  const startMs = performance.now();
  const before = source.changes;
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startMs) * rate) / 1000);
    source.step(Math.max(0, due - (source.changes - before)));
    wake();
  }, stepMs);
  return () => clearInterval(timer);
}

/**
 * By the page's own CSV: that is the way by which a reader gets all rows of a view. The last
 * updates may be under way.
 */
export async function settlesEqual(page: Page, source: OrderSource): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-csv-'));
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
