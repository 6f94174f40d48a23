import type { Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { launchBrowser } from './browser.ts';

/**
 * Chromium for the console, in which nothing may go wrong unseen: each error of a script, each line in the browser's console, each dialog and each violation
 * of the content security policy is a complaint.
 */
interface ConsoleBrowser {
  /** A tab of its own, which has a sign-in of its own. */
  newPage(): Promise<Page>;
  /** Ends the browser, and fails when there was a complaint on any of its pages. */
  close(): Promise<void>;
}

const reportViolations = `addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) =>
  console.error('security policy: ' + effectiveDirective + ' blocked ' + blockedURI + ' ' + sample))`;

/** One browser for several tests: `beforeAll` launches it, `afterAll` closes it. */
export async function launchConsole(): Promise<ConsoleBrowser> {
  const { context, close } = await launchBrowser({ script: true });
  const complaints: string[] = [];
  // As text, since it runs in the page. The browser's own line about a violation is not enough: a policy may only report.
  await context.addInitScript({ content: reportViolations });
  return {
    newPage: async () => watch(await context.newPage(), complaints),
    close: async () => {
      await close();
      expect(complaints, 'complaints of the browser').toEqual([]);
    },
  };
}

/** A page in a browser for one test: it is closed with the test, which fails when there was a complaint. */
export async function openConsole(): Promise<Page> {
  const browser = await launchConsole();
  onTestFinished(() => browser.close());
  return browser.newPage();
}

function watch(page: Page, complaints: string[]): Page {
  page.on('console', (message) => {
    // A cut stream and a refused token are a part of some tests, and the browser reports each.
    if (!/Failed to load resource|net::ERR/.test(message.text())) complaints.push(message.text());
  });
  // The page and its modules are made at start: one that is not served leaves an empty screen, and a test that waits says nothing about it.
  // The desk of the demo is no part of them: it ends with the demo, and an open page may still ask it.
  page.on('response', (response) => {
    if (response.status() >= 500 && /^\/console(?!\/demo)/.test(new URL(response.url()).pathname))
      complaints.push(`${response.status()} ${response.url()}`);
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => {
    complaints.push(dialog.message());
    void dialog.dismiss();
  });
  return page;
}
