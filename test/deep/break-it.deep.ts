import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import type { DemoDocument } from '../../src/demo/break-it/shapes.ts';
import { launchConsole } from '../support/rest/console-browser.ts';
import { expectAccessible } from '../support/rest/expect-accessible.ts';
import { neutralEnv } from '../support/runs/neutral-env.ts';
import { eventually } from '../support/runs/poll.ts';
import { givenParts } from '../support/runs/running-demo.ts';
import { tidemarkEntry } from '../support/runs/tidemark-process.ts';

/**
 * The demo on the Postgres and Kafka of the run; returns the address that it prints first, and a
 * way to end it as Ctrl-C does.
 */
async function startDemo(...args: string[]): Promise<{
  readonly console: string;
  readonly end: () => Promise<{ code: number | null; said: string }>;
}> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-break-it-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { ...neutralEnv(), TMPDIR: folder, ...(await givenParts()) };
  const child = spawn(process.execPath, [tidemarkEntry, 'demo', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  let said = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk: Buffer) => (said += chunk));
  const [first] = await eventually(
    () => {
      const addresses = said.match(/https?:\/\/\S+/g);
      if (addresses === null) throw new Error(`no address yet:\n${said}`);
      return addresses;
    },
    { deadlineMs: 120_000, everyMs: 50 },
  );
  const end = async () => {
    child.kill('SIGINT');
    return { code: await exited, said };
  };
  return { console: first ?? '', end };
}

const limit = { timeout: 60_000 };

/**
 * Presses a button of the page, and returns the lines that followed, once its story has this badge.
 */
async function press(page: Page, fault: string, badge: string): Promise<string[]> {
  const button = page.getByRole('button', { name: fault, exact: true });
  await expect.poll(() => button.isEnabled()).toBe(true);
  await button.click();
  const story = page.locator('article.incident').filter({ has: page.locator('.story-title', { hasText: fault }) });
  await story.locator('.badge', { hasText: badge }).waitFor(limit);
  return story.locator('.story-text').allTextContents();
}

it('a newcomer breaks everything in the demo, sees it heal, and sees the proof', async () => {
  const demo = await startDemo();
  expect(demo.console).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console$/);
  const page = await (await launchConsole()).newPage();
  await page.goto(demo.console);
  await page.locator('.rows .row').nth(5).waitFor();
  await page.getByRole('link', { name: 'Break it' }).click();
  await page.getByText('Nothing was broken yet').waitFor();
  await expectAccessible(page);

  expect(await press(page, 'Duplicate', 'Healed')).toContainEqual(
    expect.stringMatching(/: counted once \(revision \d+\)/),
  );
  expect(await press(page, 'Reorder', 'Healed')).toContainEqual(expect.stringMatching(/: stored, in its right place/));
  expect(await press(page, 'Drop', 'Healed')).toContainEqual(
    expect.stringMatching(/lost, and then the connection broke/),
  );
  expect(await press(page, 'Cut', 'Healed')).toContainEqual(expect.stringMatching(/connections to the platform ended/));
  expect(await press(page, 'Silent loss', 'Healed')).toContainEqual(expect.stringMatching(/lost without a sign/));
  const halfOpen = await press(page, 'Half open', 'Healed');
  // An audit may find everything before the silence is noticed: then no stream counts as not live.
  expect(halfOpen).toContainEqual(expect.stringMatching(/still open, and silent from now on/));
  expect(halfOpen).toContainEqual(expect.stringMatching(/found by reading the whole account/));
  expect(await press(page, 'Lost store', 'Healed')).toContainEqual(
    expect.stringMatching(/orders are confirmed, with their new numbers/),
  );

  expect(await press(page, '504, landed', 'Healed')).toContainEqual(
    'Resolved: the order is at the platform, placed once.',
  );
  const late = await press(page, '504, lands late', 'Healed');
  expect(late).toContainEqual(expect.stringMatching(/Asked for the order by its reference: not found/));
  expect(late).toContainEqual('Resolved: the order is at the platform, placed once.');
  const lost = await press(page, '504, not landed', 'A person has to decide');
  expect(lost).toContainEqual(expect.stringMatching(/The platform's own ledger says that it never took the order/));
  const command = page.getByRole('link', { name: 'Open the command' }).first();
  const address = (await command.getAttribute('href')) ?? '';
  await page.getByRole('button', { name: 'Resolve it as rejected' }).click();
  await page.locator('article.incident .badge', { hasText: 'Healed' }).waitFor(limit);
  const path = address.replace('/console/', '/v1/');
  expect(await (await fetch(new URL(path, demo.console))).json()).toMatchObject({ result: 'rejected' });

  await page.getByRole('button', { name: 'Compare now' }).click();
  await page.getByText('It holds').waitFor(limit);
  expect(await page.locator('.proof-figures dd').allTextContents()).toEqual(expect.arrayContaining(['0', '0', '0']));
  expect(await page.locator('.proof-commands').textContent()).toMatch(
    /^8 commands held against the ledger: .*\b2 rejected/,
  );
  await expectAccessible(page);
  const { code, said } = await demo.end();
  expect(code, said).toBe(0);
  expect(said).toContain(
    '8 commands, 8 resolved, 0 unresolved; every verdict agrees with the ledger, and none was sent twice.',
  );
}, 240_000);

it('each fault that Alpaca can have heals there too, and the proof holds', async () => {
  const demo = await startDemo('--venue', 'alpaca');
  const ask = async <T = { readonly id: number }>(path: string, body?: object): Promise<T> => {
    const headers = { 'content-type': 'application/json' };
    const post = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(new URL(path, demo.console), post)).json() as Promise<T>;
  };
  const read = () => ask<DemoDocument>('/console/demo');
  const stateAfter = (id: number) =>
    eventually(
      async () => {
        const [{ state } = { state: 'under_way' }] = (await read()).incidents.filter((incident) => incident.id === id);
        expect(state).not.toBe('under_way');
        return state;
      },
      { deadlineMs: 90_000 },
    );
  // Refused at first: the demo's own orders are on the same account.
  const landed = await eventually(
    async () => {
      const { id } = await ask('/console/demo/breaks', { fault: 'landed' });
      expect(id).toBe(1);
      return id;
    },
    { deadlineMs: 120_000, everyMs: 500 },
  );
  const states: Record<string, string> = { landed: await stateAfter(landed) };
  const { faults } = await read();
  for (const fault of faults.filter((each) => each !== 'landed'))
    states[fault] = await stateAfter((await ask('/console/demo/breaks', { fault })).id);
  expect(faults).toHaveLength(9);
  expect(states).toEqual({ ...Object.fromEntries(faults.map((fault) => [fault, 'healed'])), not_landed: 'waits' });
  const { commandId } = (await read()).incidents.find(({ state }) => state === 'waits') ?? {};
  await ask(`/v1/commands/${commandId}/resolution`, { result: 'rejected', reason: "not in Alpaca's ledger" });
  const { code, said } = await demo.end();
  expect(code, said).toBe(0);
  expect(said).toContain('By ledger, database and topic: 0 lost, 0 doubled, 0 out of order.');
  expect(said).toContain('8 commands, 8 resolved, 0 unresolved; every verdict agrees with the ledger');
}, 240_000);
