import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import type { PageBundle } from './bundle-page.ts';
import type { DrawnDashboard } from './read-dashboard.ts';

/** As the bundled script has it. */
interface PageFunctions {
  draw(dashboard: DrawnDashboard, mode: string): Promise<void>;
}

const packages = join(import.meta.dirname, 'node_modules');
/** The page is served from here, to the browser alone. */
const address = 'http://dashboards.test/';
const drawnMs = 1_500;

/** A picture of the whole dashboard, as a PNG. Throws with the page's own error. */
export async function drawPicture(
  browser: Browser,
  { script, style }: PageBundle,
  dashboard: DrawnDashboard,
  mode: 'light' | 'dark',
): Promise<Buffer> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
  });
  try {
    const page = await context.newPage();
    const errors: Error[] = [];
    page.on('pageerror', (error) => errors.push(error));
    await serve(page);
    await page.goto(address);
    await page.addStyleTag({ content: style });
    await page.addScriptTag({ content: script });
    await page.evaluate(
      ([data, look]) => (globalThis as unknown as { dashboardPage: PageFunctions }).dashboardPage.draw(data, look),
      [dashboard, mode] as const,
    );
    await new Promise((done) => setTimeout(done, drawnMs));
    if (errors[0] !== undefined) throw errors[0];
    return await page.screenshot({ fullPage: true });
  } finally {
    await context.close();
  }
}

/**
 * Answers as a Grafana server does, as far as the library asks one: with its font and its icons.
 */
async function serve(page: Page): Promise<void> {
  await page.route('**', (route) => {
    const url = route.request().url();
    if (url === address)
      return route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Dashboard</title>' });
    if (url.endsWith('.woff2'))
      return route.fulfill({ path: join(packages, '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2') });
    const icon = join(packages, '@grafana/ui/dist/public/img/icons', url.split('/img/icons/')[1] ?? '');
    return icon.endsWith('.svg') && existsSync(icon) ? route.fulfill({ path: icon }) : route.abort();
  });
}
