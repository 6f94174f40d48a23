import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { ensureProgram } from './debian-package.ts';

/** Headless Chromium with a profile of its own, closed with the test. Script is off unless the test wants it: the pages must do without. */
export async function openPage(options: { readonly script?: boolean } = {}): Promise<Page> {
  ensureProgram('chromium');
  const profile = await mkdtemp(join(tmpdir(), 'tidemark-chromium-'));
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    executablePath: '/usr/bin/chromium',
    headless: true,
    javaScriptEnabled: options.script === true,
    // Without these it looks for hosts of its maker at every start.
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  onTestFinished(async () => {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  });
  return context.pages()[0] ?? context.newPage();
}
