import { spawn } from 'node:child_process';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { palettePng } from './palette-png.ts';

// Takes the pictures of docs/console.md from the running demo: npm run console:shots, or with names
// of screens to take these alone.

const folder = join(import.meta.dirname, '../../docs/console');
const entry = join(import.meta.dirname, '../../bin/tidemark.js');

interface Demo {
  readonly rest: string;
  /** The sandbox's control port. */
  readonly control: string;
}

/** The demo asks for no token: for this screen its answer is made to. */
const signIn = 'sign-in';

/** Each screen with its address. One that needs an id asks the running demo. */
const screens: Readonly<Record<string, string | ((demo: Demo) => Promise<string>)>> = {
  orders: '/console',
  order: async ({ rest }) => {
    const order = await longestHistory(rest);
    return `/console/orders/${order.stream}/${encodeURIComponent(order.orderId)}`;
  },
  commands: '/console/commands',
  command: async ({ rest }) => `/console/commands/${(await commandWithMostEvidence(rest)).commandId}`,
  risk: '/console/risk',
  place: '/console/place?accountId=SIM-1001&symbol=AAPL&quantity=600',
  accounts: '/console/accounts',
  pipeline: '/console/pipeline',
  'dead-letters': '/console/dead-letters',
  'break-it': '/console/break-it',
  [signIn]: '/console',
};

const looks = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
  { name: 'phone-light', colorScheme: 'light', viewport: { width: 390, height: 844 } },
  { name: 'phone-dark', colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const;

const drawnMs = 2_500;
const startMs = 180_000;
/** The demo's own commands are resolved by then. */
const commandsMs = 15_000;
const mostBytes = 150_000;

async function main(wanted: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const child = spawn(process.execPath, [entry, 'demo'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  try {
    const demo = await addressesOf(child.stdout);
    await pause(commandsMs);
    await makeAStory(browser, demo);
    for (const [name, address] of Object.entries(screens)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      await takeScreen(browser, demo, name, typeof address === 'string' ? address : await address(demo));
    }
  } finally {
    await browser.close();
    child.kill('SIGINT');
    await ended;
  }
}

async function addressesOf(output: NodeJS.ReadableStream): Promise<Demo> {
  let said = '';
  output.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  for (let waitedMs = 0; waitedMs < startMs; waitedMs += 100) {
    const rest = /^Open +(http:\S+)\/console$/m.exec(said)?.[1];
    const control = /control port (http:\S+)$/m.exec(said)?.[1];
    if (rest !== undefined && control !== undefined) return { rest, control };
    await pause(100);
  }
  throw new Error(`the demo did not start:\n${said}`);
}

/**
 * Something for each screen to show: a message that cannot be read, a limit, an order whose result
 * is not known, a fault that has healed, and the proof.
 */
async function makeAStory(browser: Browser, { rest, control }: Demo): Promise<void> {
  const now = ['missing_field', 'bad_decimal', 'not_json', 'html'].map((kind) => ({ action: 'garbage', kind }));
  await fetch(`${control}/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ now }),
  });
  await fetch(`${rest}/v1/limits`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      accountId: 'SIM-1001',
      bounds: { maxQuantity: '500', collarPercent: '50' },
      reason: 'small sizes',
    }),
  });
  const page = await browser.newPage();
  await page.goto(`${rest}/console/break-it`);
  for (const button of ['Compare now', '504, not landed', 'Cut']) {
    await page.getByRole('button', { name: button, exact: true }).click();
    await pause(1000);
    await page.locator('.break-it button[aria-disabled=false]', { hasText: 'Cut' }).waitFor({ timeout: 60_000 });
  }
  await page.close();
}

async function takeScreen(browser: Browser, { rest }: Demo, name: string, address: string): Promise<void> {
  for (const { name: look, colorScheme, viewport } of looks) {
    const context = await browser.newContext({ colorScheme, viewport, reducedMotion: 'reduce' });
    const page = await context.newPage();
    if (name === signIn)
      await page.route('**/v1/me', (route) => route.fulfill({ status: 401, json: { code: 'UNAUTHENTICATED' } }));
    await page.goto(`${rest}${address}`);
    await page.getByText('Opening …').waitFor({ state: 'detached', timeout: 60_000 });
    if (name === 'place') await fillTicket(page);
    await pause(drawnMs);
    const there = !(await isNowhere(page));
    if (there) writeShot(join(folder, `${name}-${look}.png`), await page.screenshot());
    await context.close();
    if (there) continue;
    process.stdout.write(`${name}: there is no such screen\n`);
    return;
  }
}

/** Until the service has said what it comes to. */
async function fillTicket(page: Page): Promise<void> {
  await page.getByLabel('Side').selectOption('SELL');
  await page.getByLabel('Price', { exact: true }).fill('210');
  await page.locator('.comes-to table').waitFor({ timeout: 60_000 });
}

function isNowhere(page: Page): Promise<boolean> {
  return page.getByText('There is nothing at this address').isVisible();
}

function writeShot(path: string, png: Buffer): void {
  writeFileSync(path, palettePng(png));
  const { size } = statSync(path);
  process.stdout.write(`${path} ${size} bytes${size > mostBytes ? ', which is too much' : ''}\n`);
}

interface ListedOrder {
  readonly stream: string;
  readonly orderId: string;
  readonly revision: number;
}

async function longestHistory(rest: string): Promise<ListedOrder> {
  const { items } = await read<{ items: readonly ListedOrder[] }>(`${rest}/v1/orders?limit=500`);
  const [first, ...others] = items;
  if (first === undefined) throw new Error('the demo has no order yet');
  return others.reduce((best, each) => (each.revision > best.revision ? each : best), first);
}

async function commandWithMostEvidence(rest: string): Promise<{ readonly commandId: string }> {
  const { items } = await read<{ items: readonly { readonly commandId: string; readonly misses?: number }[] }>(
    `${rest}/v1/commands`,
  );
  const [first, ...others] = items;
  if (first === undefined) throw new Error('the demo has no command yet');
  return others.reduce((best, each) => ((each.misses ?? 0) > (best.misses ?? 0) ? each : best), first);
}

async function read<T>(url: string): Promise<T> {
  return (await (await fetch(url)).json()) as T;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

await main(process.argv.slice(2));
