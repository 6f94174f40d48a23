import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { atEnd } from '../commands/at-end.ts';
import { launchBrowser } from '../servers/browser.ts';

/**
 * Chromium for the console, in which nothing may go wrong unseen: each error of a
 * script, each line in the browser's console, each dialog and each violation of
 * the content security policy is a complaint.
 */
interface ConsoleBrowser {
  /** A tab of its own, which has a sign-in of its own. It is closed with the test. */
  newPage(): Promise<Page>;
}

const reportViolations = `addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) =>
  console.error('security policy: ' + effectiveDirective + ' blocked ' + blockedURI + ' ' + sample))`;

/** It is ended with the test (or its file), which fails when there was a complaint on any page. */
export async function launchConsole(): Promise<ConsoleBrowser> {
  const { context, close } = await launchBrowser({ script: true });
  const complaints: string[] = [];
  // As text, since it runs in the page. The browser's own line about a violation
  // is not enough: a policy may only report.
  await context.addInitScript({ content: reportViolations });
  atEnd(async () => {
    await close();
    expect(complaints, 'complaints of the browser').toEqual([]);
  });
  return {
    newPage: async () => {
      const page = watch(await context.newPage(), complaints);
      atEnd(() => page.close());
      return page;
    },
  };
}

function watch(page: Page, complaints: string[]): Page {
  page.on('console', (message) => {
    // A cut stream and a refused token are a part of some tests, and the browser reports each.
    if (!/Failed to load resource|net::ERR/.test(message.text())) complaints.push(message.text());
  });
  // The page and its modules are made at start: one that is not served leaves an empty screen, and
  // a test that waits says nothing about it. "Break it" of the demo is no part of them: it ends
  // with the demo, and an open page may still ask it.
  page.on('response', (response) => {
    if (response.status() >= 500 && /^\/console(?!\/demo)/.test(new URL(response.url()).pathname))
      complaints.push(`${response.status()} ${response.url()}`);
  });
  // Containers that start beside the tests change the machine's network, and Chromium then drops
  // its requests. The page loads its style and later parts again by itself; where its script was
  // dropped it asks the reader to do so.
  page.on('requestfailed', (request) => {
    const isScript = /\/main-\w+\.js$/.test(request.url());
    if (isScript && request.failure()?.errorText === 'net::ERR_NETWORK_CHANGED')
      page.once('load', () => void page.reload());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => {
    complaints.push(dialog.message());
    void dialog.dismiss();
  });
  return page;
}
