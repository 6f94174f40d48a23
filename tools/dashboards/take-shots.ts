import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { dashboards } from '../../grafana/source/generated-files.ts';
import { palettePng } from '../../test/docs/palette-png.ts';
import { ensureProgram } from '../../test/support/servers/debian-package.ts';
import { startPrometheus } from '../../test/support/servers/start-prometheus.ts';
import { bundlePage } from './bundle-page.ts';
import { drawPicture } from './draw-picture.ts';
import { type DrawnDashboard, readDashboard } from './read-dashboard.ts';
import { prepareFleet } from './running-fleet.ts';
import { tellStory } from './tell-story.ts';

// Takes the pictures of the dashboards for docs/operating.md: npm run dashboards:shots, or with
// names of dashboards to take these alone. It takes six minutes. A real Prometheus scrapes two real
// processes; the JSON of the dashboards is drawn by the components of Grafana's own library.

process.chdir(resolve(import.meta.dirname, '../..'));

const names = dashboards.map(({ uid }) => uid.replace(/^tidemark-/, ''));
const folder = 'docs/dashboards';
const scrapeSeconds = 2;
const mostBytes = 160_000;

async function main(wanted: readonly string[]): Promise<void> {
  ensureProgram('prometheus');
  ensureProgram('chromium');
  const page = bundlePage();
  const filled = await readAll(wanted.length > 0 ? wanted : names);
  mkdirSync(folder, { recursive: true });
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  try {
    for (const [name, dashboard] of filled)
      for (const mode of ['light', 'dark'] as const)
        writeShot(join(folder, `${name}-${mode}.png`), await drawPicture(browser, page, dashboard, mode));
  } finally {
    await browser.close();
  }
}

/** The dashboards with the data of a story of some minutes. */
async function readAll(wanted: readonly string[]): Promise<Map<string, DrawnDashboard>> {
  const fleet = await prepareFleet();
  const targets = [fleet.first, fleet.second].map(({ name, adminPort }) => ({
    address: `127.0.0.1:${adminPort}`,
    instance: `${name}:9464`,
  }));
  try {
    const { base, stop } = await startPrometheus({ targets, everySeconds: scrapeSeconds });
    try {
      const from = evenSeconds();
      await tellStory(fleet);
      const time = { from, to: evenSeconds(), base, scrapeSeconds };
      const found = new Map<string, DrawnDashboard>();
      for (const name of wanted) found.set(name, await readDashboard(`grafana/dashboards/tidemark-${name}.json`, time));
      return found;
    } finally {
      await stop();
    }
  } finally {
    await fleet.stop();
  }
}

/** Now, as a whole number of scrapes, as Grafana asks. */
function evenSeconds(): number {
  return Math.floor(Date.now() / 1000 / scrapeSeconds) * scrapeSeconds;
}

function writeShot(path: string, png: Buffer): void {
  writeFileSync(path, palettePng(png));
  const { size } = statSync(path);
  process.stdout.write(`${path} ${size} bytes${size > mostBytes ? ', which is too much' : ''}\n`);
}

await main(process.argv.slice(2));
