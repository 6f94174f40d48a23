import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { ensureProgram } from './debian-package.ts';

interface BrowserOptions {
  /** Off unless the test wants it: the sign-in pages must do without. */
  readonly script?: boolean;
}

/** Headless Chromium with a profile of its own. `close` ends it and removes the profile. */
export async function launchBrowser(
  options: BrowserOptions = {},
): Promise<{ context: BrowserContext; close: () => Promise<void> }> {
  ensureProgram('chromium');
  const profile = await mkdtemp(join(tmpdir(), 'tidemark-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
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
  // A bound against hanging: on a busy machine a page has taken half a minute.
  context.setDefaultTimeout(120_000);
  const close = async () => {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  };
  return { context, close };
}

/** One page in a browser of its own, closed with the test. */
export async function openPage(options: BrowserOptions = {}): Promise<Page> {
  const { context, close } = await launchBrowser(options);
  onTestFinished(close);
  return context.pages()[0] ?? context.newPage();
}
