import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { launchConsole } from '../support/rest/console-browser.ts';
import { scriptedServer } from '../support/servers/http-server.ts';

const site = join(import.meta.dirname, '../../tools/site/dist');
const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.png': 'image/png',
};

/** The site as any static server serves it. */
async function serveSite(): Promise<string> {
  const server = await scriptedServer(({ path }, response) => {
    const file = join(site, decodeURIComponent(path.replace(/\?.*$/, '')).replace(/\/$/, '/index.html'));
    if (!existsSync(file)) return void response.writeHead(404).end();
    response
      .writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' })
      .end(readFileSync(file));
  });
  onTestFinished(() => server.close());
  return server.url;
}

it('npm run docs builds the pages, and a search in the browser finds the page that a reader needs', async () => {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', 'docs'], { encoding: 'utf8', timeout: 600_000 });
  expect(status, `${stdout}\n${stderr}`).toBe(0);
  const [, pages] = /^(\d+) pages in tools\/site\/dist, each link leads somewhere$/m.exec(stdout) ?? [];
  expect(Number(pages)).toBeGreaterThan(80);

  const page = await (await launchConsole()).newPage();
  const address = await serveSite();
  await page.goto(`${address}/`);
  await page.locator('#local-search button').click();
  await page.locator('#localsearch-input').fill('placing halted');
  await page.locator('.results .result', { hasText: 'PlacingHalted' }).first().click();
  await page.waitForURL(/\/runbooks\/PlacingHalted\.html/);
  expect(await page.locator('h1').innerText()).toContain('PlacingHalted');

  await page.locator('.VPSidebar').getByRole('link', { name: 'The console', exact: true }).click();
  await page.waitForURL(/\/console\.html/);
  const picture = page.locator('img').first();
  await picture.scrollIntoViewIfNeeded();
  await page.waitForFunction("document.querySelector('main img').naturalWidth > 1000");
});
