// What a user saw: The list of orders cut YES and NO off, and showed a part-filled order as filled.

import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import type { Instrument } from '../../src/domain/order.ts';
import { launchConsole } from '../support/rest/console-browser.ts';
import { startRest } from '../support/rest/rest-rig.ts';

/** As long as the platform takes them: 20 characters, and a contract has 21. */
const instruments: readonly (readonly [orderId: string, instrument: Instrument, end: string])[] = [
  ['yes', { kind: 'prediction', symbol: 'SHUTDOWN-2026-DEC-31', outcome: 'YES' }, 'YES'],
  ['no', { kind: 'prediction', symbol: 'SHUTDOWN-2026-DEC-31', outcome: 'NO' }, 'NO'],
  ['wide', { kind: 'prediction', symbol: 'W'.repeat(20), outcome: 'YES' }, 'YES'],
  ['short', { kind: 'prediction', symbol: 'M', outcome: 'NO' }, 'NO'],
  ['call', { kind: 'option', symbol: 'GOOGL1261218C00200000' }, 'C00200000'],
  ['put', { kind: 'option', symbol: 'GOOGL', legs: [leg('GOOGL1261218P00200000')] }, 'P00200000'],
  ['legs', { kind: 'option', symbol: 'SHUTDOWN-2026-DEC-31', legs: [leg('A'), leg('B')] }, ', 2 legs'],
];

function leg(symbol: string) {
  return { symbol, side: 'buy', ratioQty: '1' };
}

/** 536 of 580 are filled, and 500 were submitted. */
const terms = { quantity: '500', working: { quantity: '580', price: '191.5' }, cumQty: '536', leavesQty: '44' };

async function opened(path: string) {
  const { address, reads, server } = await startRest({ withConsole: true, stream: { pollEveryMs: 20, pollGapMs: 1 } });
  onTestFinished(() => server.drain(new AbortController().signal));
  for (const [orderId, instrument] of instruments) reads.addUpdate({ ...terms, orderId, instrument });
  const page = await (await launchConsole()).newPage();
  await page.goto(`${address}${path}`);
  return page;
}

/**
 * The ends of instruments that are not in view whole: some parent around the text cuts it. By the
 * place of the letters, since a text that is cut is whole in the document.
 */
const hiddenEnds = (ends: Readonly<Record<string, string>>) => `(() => {
  const hidden = [];
  for (const [orderId, end] of Object.entries(${JSON.stringify(ends)})) {
    const cell = document.querySelector('[id="row-account:' + orderId + '"]').querySelector('.col-instrument');
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    let node;
    for (let next = walker.nextNode(); next; next = walker.nextNode()) node = next;
    const text = node.data;
    const range = document.createRange();
    range.setStart(node, Math.max(0, text.length - end.length));
    range.setEnd(node, text.length);
    const { left, right } = range.getBoundingClientRect();
    const isCut = [...function* () { for (let at = node.parentElement; at && at !== document.body; at = at.parentElement) yield at; }()].some((parent) => {
      const box = parent.getBoundingClientRect();
      return getComputedStyle(parent).overflowX === 'hidden' && (left < box.left - 1 || right > box.right + 1);
    });
    if (!text.endsWith(end) || isCut) hidden.push(orderId + ' ' + text);
  }
  return hidden;
})()`;

const fillOf = (page: Page) =>
  page
    .locator('.fill')
    .first()
    .evaluate((fill) => ({
      title: fill.getAttribute('title'),
      text: fill.querySelector('.fill-text')?.textContent,
      style: fill.querySelector('.fill-done')?.getAttribute('style'),
    }));

const fill = { title: '536 of 580 filled', text: '536 / 580', style: 'width: 92.4%;' };

it.each([1440, 800, 390])(
  'the end of each instrument, and the working quantity, are in view at %d px',
  async (width) => {
    const page = await opened('/console');
    await page.setViewportSize({ width, height: 800 });
    await page.getByText(`${instruments.length} orders`).waitFor();
    expect(await page.evaluate(hiddenEnds(Object.fromEntries(instruments.map(([id, , end]) => [id, end]))))).toEqual(
      [],
    );
    expect(await fillOf(page)).toEqual(fill);
  },
);

it('the outcome stays in the narrowest column, and the page of an order divides by the same quantity', async () => {
  const page = await opened('/console?widths=instrument:40');
  await page.getByText(`${instruments.length} orders`).waitFor();
  const cell = page.locator('.rows .col-instrument').first();
  expect((await cell.boundingBox())?.width).toBe(40);
  expect(await page.evaluate(hiddenEnds({ yes: 'YES', no: 'NO', wide: 'YES', short: 'NO' }))).toEqual([]);
  await cell.getByRole('link').click();
  await page.getByRole('heading', { name: 'Versions' }).waitFor();
  expect(await fillOf(page)).toEqual(fill);
});
