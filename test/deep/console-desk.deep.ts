import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { columnNames } from '../../src/console/state/orders/order-columns.ts';
import { forFile } from '../support/commands/at-end.ts';
import { launchConsole } from '../support/rest/console-browser.ts';
import { expectAccessible } from '../support/rest/expect-accessible.ts';
import { startRest } from '../support/rest/rest-rig.ts';
import { eventually } from '../support/runs/poll.ts';

const browser = forFile(() => launchConsole());

async function inMemory() {
  const rig = await startRest({ withConsole: true, stream: { pollEveryMs: 20, pollGapMs: 1 } });
  onTestFinished(() => rig.server.drain(new AbortController().signal));
  const add = (over: Parameters<typeof rig.reads.addUpdate>[0]) => {
    rig.reads.addUpdate(over);
    rig.server.wake();
  };
  return { ...rig, add };
}

/** The longest that the specification allows, and decimals of twelve places. */
const longest = {
  orderId: '8c0f7f5e-8d44-4d13-9f0b-27f1b7f3a111',
  accountId: 'DESK-EUROPE-AFTER-HOURS-MARGIN-0123456789-WMWMWMWM',
  side: 'buy_to_cover',
  orderType: 'stop_limit',
  timeInForce: 'gtd',
  status: 'partially_filled',
  certainty: 'unknown_store_lost',
  pendingAction: 'replace',
  conflict: 'the list has more filled than the stream',
  quantity: '123456789.123456789012',
  price: '12345.123456789012',
  stopPrice: '12344.123456789012',
  working: { quantity: '223456789.123456789012', price: '12346.123456789012' },
  cumQty: '123456788.123456789012',
  leavesQty: '100000001',
  avgPrice: '12345.123456789012345678',
  clOrdId: 'c'.repeat(50),
  clientOrderRef: 'W'.repeat(50),
  venueOrderId: 'V'.repeat(50),
  placedBy: 'W'.repeat(50),
  rejectReason: 'W'.repeat(80),
  createdAt: '2025-12-31T23:59:59.999Z',
  updatedAt: '2025-12-31T23:59:59.999Z',
} as const;
const usual = {
  quantity: '100',
  cumQty: '40',
  price: '63.8',
  avgPrice: '63.81',
  working: { quantity: '100', price: '63.8' },
};

/**
 * Cells in which something is out of sight, or that stand outside of their row. Those in `harmless`
 * may be narrower than their text.
 */
const cutCells = (harmless: readonly string[]) => `[...document.querySelectorAll('.rows .cell')].flatMap((cell) => {
  const name = [...cell.classList].find((each) => each.startsWith('col-')) ?? 'group';
  if (${JSON.stringify(harmless)}.includes(name.slice(4))) return [];
  const [box, row] = [cell.getBoundingClientRect(), cell.closest('.row').getBoundingClientRect()];
  const inner = [cell, ...cell.querySelectorAll('*')].filter((each) => each.clientWidth > 0 && each.scrollWidth > each.clientWidth + 0.5);
  const outside = box.bottom > row.bottom + 0.5 || box.top < row.top - 0.5 || box.right > row.right + 0.5;
  return inner.length > 0 || outside ? [name + ': ' + cell.textContent] : [];
})`;

const harmless = ['created', 'reject', 'reference', 'venue', 'command', 'placed', 'origin', 'order'];

describe('issue: Opposite contracts looked alike, since the end of their name was cut off.', () => {
  it.each([1440, 800, 390])(
    'nothing that decides is cut at %i pixels, with the longest values beside usual ones',
    async (width) => {
      const { address, add } = await inMemory();
      const symbols = ['SHUTDOWN-2026-DEC-31', 'WMWMWMWMWMWMWMWMWMWM', 'GOOGL261218C00200000', 'KO'];
      for (const [at, symbol] of symbols.entries())
        for (const outcome of ['YES', 'NO']) {
          const instrument = { kind: 'prediction', symbol, outcome } as const;
          const orderId = `${longest.orderId}-${at}-${outcome}`;
          add({ ...(at === 3 ? usual : longest), stream: 'prediction', orderId, instrument } as never);
        }
      const legs = ['GOOGL1261218P00200000', 'GOOGL1261218C00200000'].map((symbol) => ({
        symbol,
        side: 'buy',
        ratioQty: '1',
      }));
      add({ ...longest, orderId: 'put', instrument: { kind: 'option', symbol: 'GOOGL', legs: legs.slice(0, 1) } });
      add({ ...longest, orderId: 'legs', instrument: { kind: 'option', symbol: 'SHUTDOWN-2026-DEC-31', legs } });
      const page = await browser().newPage();
      await page.setViewportSize({ width, height: 900 });
      await page.goto(`${address}/console?columns=${columnNames.join()}`);
      await eventually(async () => expect(await page.locator('.rows .row').count()).toBe(10));
      await eventually(async () => expect(await page.evaluate(cutCells(harmless))).toEqual([]));
      expect(await page.locator('.rows .col-outcome').allTextContents()).toEqual(
        expect.arrayContaining(['YES', 'NO', 'YES', 'NO']),
      );
      const instruments = await page.locator('.rows .col-instrument').allTextContents();
      for (const end of [/P00200000$/, /, 2 legs$/])
        expect(instruments.filter((text) => end.test(text))).toHaveLength(1);
      // A reader can't make them too narrow either.
      if (width > 760) {
        const widths = columnNames.map((name) => `${name}:40`).join();
        await page.goto(`${address}/console?columns=${columnNames.join()}&widths=${widths}`);
        await eventually(async () => expect(await page.locator('.rows .row').count()).toBe(10));
        expect(await page.evaluate(cutCells(harmless.filter((name) => name !== 'created')))).toEqual([]);
      }
      await page.goto(`${address}/console?group=account,symbol,side&sums=only`);
      await eventually(async () => expect(await page.locator('.rows .group').count()).toBe(10));
      expect(await page.evaluate(cutCells(harmless))).toEqual([]);
      await expectAccessible(page);
    },
  );
});

describe('issue: A part-filled order that was replaced showed a full bar, and "5 / 4.125".', () => {
  it('its bar and its amounts go by the working quantity, in the table, on a phone and on its page', async () => {
    const { address, add } = await inMemory();
    add({ orderId: 'grown', quantity: '500', cumQty: '536', leavesQty: '44', working: { quantity: '580' } });
    const page = await browser().newPage();
    await page.goto(`${address}/console`);
    const share = () =>
      page.locator('.fill-done').evaluate((bar) => bar.clientWidth / (bar.parentElement?.clientWidth ?? 0));
    await page.locator('.rows .fill-done').waitFor();
    expect(await share()).toBeCloseTo(0.92, 1);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByText('536 / 580').waitFor();
    await page.setViewportSize({ width: 1440, height: 800 });
    await page.goto(`${address}/console/orders/account/grown`);
    await page.getByText('536 / 580').waitFor();
    await page.getByRole('heading', { name: '580 AAPL' }).waitFor();
    expect(await share()).toBeCloseTo(0.92, 1);
  });
});

/** The left edges of what stands behind the points of a column, in whole pixels. */
const pointsOf = (page: Page, column: string) =>
  page.evaluate<number[]>(
    `[...document.querySelectorAll('.rows .col-${column} .fraction')].map((each) => Math.round(each.getBoundingClientRect().left))`,
  );

it('amounts stand at their decimal points, prices with the decimals of their instrument, and thousands apart', async () => {
  const { address, add } = await inMemory();
  for (const [at, price] of ['63.8', '63.81', '64', '1234.5625'].entries()) {
    const symbol = at === 3 ? 'BRK.A' : 'KO';
    const quantity = ['5', '4.125', '1000', '1234567'][at] ?? '1';
    const amounts = {
      quantity,
      cumQty: '1',
      leavesQty: '1',
      price,
      avgPrice: `${price}`,
      working: { quantity, price },
    };
    add({ orderId: `o-${at}`, instrument: { kind: 'equity', symbol }, ...amounts });
  }
  const page = await browser().newPage();
  await page.goto(`${address}/console?sort=price`);
  await eventually(async () => expect(await page.locator('.rows .row').count()).toBe(4));
  const texts = async (column: string) =>
    (await page.locator(`.rows .col-${column}`).allTextContents()).toSorted().map((text) => text.trim());
  expect(await texts('price')).toEqual(['1,234.5625', '63.80', '63.81', '64.00']);
  expect(await texts('quantity')).toEqual(['1,000', '1,234,567', '4.125', '5']);
  for (const column of ['quantity', 'price', 'working', 'at', 'average'])
    expect(new Set(await pointsOf(page, column)).size, column).toBe(1);
  // An instrument that turns out to have finer prices has them in each of its rows.
  add({
    orderId: 'o-9',
    instrument: { kind: 'equity', symbol: 'KO' },
    price: '63.8125',
    working: { quantity: '1', price: '63.8125' },
  });
  await eventually(async () =>
    expect(await texts('price')).toEqual(['1,234.5625', '63.8000', '63.8100', '63.8125', '64.0000']),
  );
});

it.each([1440, 800])(
  'a long average is rounded, and whole in its title; at %i pixels its column takes no more than its heading and two digits',
  async (width) => {
    const { address, add } = await inMemory();
    const instrument = { kind: 'equity', symbol: 'KO' } as const;
    add({ orderId: 'short', instrument, ...usual });
    const page = await browser().newPage();
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${address}/console`);
    await page.locator('.rows .row').waitFor();
    const average = page.getByRole('columnheader', { name: 'Average' });
    const boxOf = async () => (await average.boundingBox()) ?? { x: 0, width: 0 };
    const before = await boxOf();
    add({ orderId: 'long', instrument, ...usual, avgPrice: '63.823456789012345678' });
    const cell = page.locator('.rows .row').filter({ hasText: 'long' }).locator('.col-average');
    await eventually(async () => expect(await cell.textContent()).toBe('63.8235'));
    expect(await cell.locator('span').first().getAttribute('title')).toBe('63.823456789012345678');
    expect(await cell.getAttribute('aria-label')).toBe('63.8235');
    const after = await boxOf();
    expect(after.width - before.width).toBeLessThan(25);
    if (width === 1440) expect(after.x + after.width).toBeLessThanOrEqual(width);
    // An instrument with finer prices has finer averages, in rows that were drawn before as well.
    add({ orderId: 'fine', instrument, ...usual, price: '63.8125' });
    await eventually(async () => expect(await cell.textContent()).toBe('63.823457'));
    await eventually(async () => expect(await page.evaluate(cutCells(harmless))).toEqual([]));
    await page.goto(`${address}/console/orders/account/long`);
    await page.getByText('63.823456789012345678').first().waitFor();
  },
);

it('a reader moves columns by keys and by the pointer, and finds them again at the next visit', async () => {
  const { address, add } = await inMemory();
  add({ orderId: 'one' });
  const page = await browser().newPage();
  await page.goto(`${address}/console`);
  const heads = async () =>
    (await page.getByRole('columnheader').allTextContents()).slice(0, 3).map((text) => text.replace(/ [↓↑]$/, ''));
  await page.locator('.rows .row').first().waitFor();
  expect(await heads()).toEqual(['Changed', 'Account', 'Instrument']);
  const heading = (name: string) => page.getByRole('columnheader', { name }).getByRole('button');
  await heading('Account').focus();
  await page.keyboard.press('<');
  await eventually(async () => expect(await heads()).toEqual(['Account', 'Changed', 'Instrument']));
  await heading('Side').dragTo(heading('Account'));
  await eventually(async () => expect(await heads()).toEqual(['Side', 'Account', 'Changed']));
  await page.goto(`${address}/console`);
  await page.locator('.rows .row').first().waitFor();
  expect(await heads()).toEqual(['Side', 'Account', 'Changed']);
  await page.getByText('Columns', { exact: true }).click();
  await page.getByRole('button', { name: 'Usual columns' }).click();
  await eventually(async () => expect(await heads()).toEqual(['Changed', 'Account', 'Instrument']));
});

it('groups have the sums of their orders, live, and are folded by a click or a key', async () => {
  const { address, add } = await inMemory();
  const amounts = { cumQty: '0', price: '10', working: { quantity: '1000', price: '10' } };
  for (const at of [1, 2, 3])
    add({
      orderId: `o-${at}`,
      accountId: at === 3 ? 'ACC-2' : 'ACC-1',
      quantity: '1000',
      leavesQty: '1000',
      ...amounts,
    });
  const page = await browser().newPage();
  await page.goto(`${address}/console`);
  await page.locator('.rows .row').first().waitFor();
  await page.locator('.groups summary').click();
  await page.locator('.groups').getByLabel('Account').check();
  const line = (account: string) => page.getByRole('row').filter({ has: page.getByRole('button', { name: account }) });
  await line('ACC-1').getByText('2 orders').waitFor();
  expect(await line('ACC-1').locator('.col-left').textContent()).toBe('2,000');
  expect(await line('ACC-1').locator('.col-value').textContent()).toBe('20,000.00');
  add({
    orderId: 'o-4',
    accountId: 'ACC-1',
    quantity: '0.5',
    leavesQty: '0.5',
    cumQty: '0',
    working: { quantity: '0.5' },
  });
  await line('ACC-1').getByText('3 orders').waitFor();
  expect(await line('ACC-1').locator('.col-left').textContent()).toBe('2,000.5');
  expect(await page.locator('.rows .row').count()).toBe(6);
  await page.keyboard.press('Escape');
  await line('ACC-1').click();
  await eventually(async () => expect(await page.locator('.rows .row').count()).toBe(3));
  await page.getByText('4 orders').waitFor();
  // Bought and sold are no sum: each has a line, and both are folded as one.
  add({ orderId: 'o-5', accountId: 'ACC-1', side: 'sell', quantity: '30', leavesQty: '30', ...amounts });
  const sold = page.getByRole('row').filter({ hasText: 'ACC-1, sell' });
  await sold.getByText('1 order', { exact: true }).waitFor();
  expect(await sold.locator('.col-left').textContent()).toBe('30');
  expect(await line('ACC-1').locator('.col-left').textContent()).toBe('2,000.5');
  await sold.click();
  await eventually(async () => expect(await page.locator('.rows .row').count()).toBe(8));
});

it('the list of fills has those before the visit and those that come, by its filters, and what was taken back', async () => {
  const { address, add } = await inMemory();
  const fill = (revision: number, cumQty: string, orderId = 'filled') =>
    add({ orderId, revision, cumQty, leavesQty: '1' });
  fill(1, '40');
  const page = await browser().newPage();
  await page.goto(`${address}/console/fills`);
  const lines = page.getByRole('table', { name: 'Fills' }).locator('tbody tr');
  await eventually(async () => expect(await lines.count()).toBe(1));
  add({ orderId: 'other', side: 'sell', cumQty: '10', leavesQty: '90' });
  await eventually(async () => expect(await lines.count()).toBe(2));
  await page.getByRole('combobox', { name: 'Side' }).selectOption('sell');
  await eventually(async () => expect(await lines.count()).toBe(1));
  expect(new URL(page.url()).search).toBe('?side=sell');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV' }).click();
  expect((await download).suggestedFilename()).toMatch(/^fills-.*\.csv$/);
  await expectAccessible(page);
});

it.each([1440, 390])(
  'the prices of fills stand below their heading, and an inferred one is rounded, at %i pixels',
  async (width) => {
    const { address, add } = await inMemory();
    add({ orderId: 'short', ...usual, avgPrice: '63.8' });
    add({ orderId: 'long', ...usual, avgPrice: '63.823456789012345678' });
    const page = await browser().newPage();
    await page.setViewportSize({ width, height: 800 });
    await page.goto(`${address}/console/fills`);
    const prices = page.getByRole('table', { name: 'Fills' }).locator('tbody td:nth-child(4)');
    await eventually(async () => expect(await prices.allTextContents()).toEqual(['63.8235', '63.80']));
    expect(await prices.first().locator('span').first().getAttribute('title')).toBe('63.823456789012345678');
    await page.getByRole('status').filter({ hasNotText: 'reading' }).getByText('2 fills since').waitFor();
    /** The edges of what is written there. */
    const edges = (selector: string) =>
      page.evaluate<{ left: number; right: number }>(`(() => {
        const range = document.createRange();
        range.selectNodeContents(document.querySelector(${JSON.stringify(selector)}));
        const { left, right } = range.getBoundingClientRect();
        return { left, right };
      })()`);
    const heading = await edges('.fill-list th:nth-child(4)');
    const text = await edges('.fill-list tr:last-child td:nth-child(4) .fraction');
    expect(text.right).toBeGreaterThan(heading.left);
    await expectAccessible(page);
  },
);

describe('issue: A press on an order opened another one, which had come under the pointer.', () => {
  /** Twelve orders; the one at the bottom is `o-0`. */
  async function moving(width: number) {
    const rig = await inMemory();
    for (let at = 0; at < 12; at += 1) rig.add({ orderId: `o-${at}`, revision: 1 });
    const page = await browser().newPage();
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${rig.address}/console?columns=updated,order,instrument,status,fill`);
    await eventually(async () => expect(await page.locator('.rows .row').count()).toBe(12));
    const order = (orderId: string) => page.locator(`[id="row-account:${orderId}"]`);
    const middleOf = async (orderId: string, within: string) => {
      const box = await order(orderId).locator(within).boundingBox();
      return { x: (box?.x ?? 0) + (box?.width ?? 0) / 2, y: (box?.y ?? 0) + (box?.height ?? 0) / 2 };
    };
    return { ...rig, page, order, middleOf };
  }

  it('rows keep their places under a pointer that moves and after a key, with new values, and then go on', async () => {
    const { page, add, order, middleOf } = await moving(1440);
    const { x, y } = await middleOf('o-5', '.col-status');
    const topOf = async () => Math.round((await order('o-5').boundingBox())?.y ?? 0);
    const still = await topOf();
    await page.mouse.move(x, y);
    for (const revision of [2, 3]) {
      add({ orderId: 'o-0', revision, status: 'filled', cumQty: '100', leavesQty: '0' });
      add({ orderId: 'o-5', revision, cumQty: `${40 + revision}` });
      await order('o-5')
        .getByText(`${40 + revision}`, { exact: false })
        .first()
        .waitFor();
      await order('o-0').getByText('filled', { exact: true }).waitFor();
      expect(await topOf()).toBe(still);
      await page.mouse.move(x + revision, y);
    }
    // The pointer lies there, and the rows go on.
    await eventually(async () => expect(await order('o-0').count()).toBe(0));
    await eventually(async () => expect(await order('o-5').getAttribute('aria-rowindex')).toBe('2'));
    await page.keyboard.press('j');
    add({ orderId: 'o-9', revision: 2, cumQty: '77' });
    await order('o-9').getByText('77').first().waitFor();
    expect(await order('o-5').getAttribute('aria-rowindex')).toBe('2');
  });

  it('the end of a long press counts for the row where it began, on its name or beside it', async () => {
    for (const [within, opens] of [
      ['.instrument', true],
      ['.col-status', false],
    ] as const) {
      const { page, add, order, middleOf } = await moving(1440);
      const { x, y } = await middleOf('o-5', within);
      await page.mouse.move(x, y);
      await page.mouse.down();
      add({ orderId: 'o-1', revision: 2, cumQty: '50' });
      await eventually(async () => expect(await order('o-1').getAttribute('aria-rowindex')).toBe('2'));
      await page.mouse.up();
      if (opens) await page.waitForURL(/\/orders\/account\/o-5$/);
      else await eventually(async () => expect(await order('o-5').getAttribute('aria-selected')).toBe('true'));
      expect(/orders/.test(new URL(page.url()).pathname)).toBe(opens);
    }
  });

  it('a press that ends at another row, further away, is for none', async () => {
    const { page, order, middleOf } = await moving(1440);
    const [from, to] = [await middleOf('o-5', '.instrument'), await middleOf('o-2', '.instrument')];
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y);
    await page.mouse.up();
    await order('o-3').locator('.col-status').click();
    await eventually(async () => expect(await order('o-3').getAttribute('aria-selected')).toBe('true'));
    expect(new URL(page.url()).pathname).toBe('/console');
  });

  it('on a phone the whole card opens its order, under its own name, and a group is folded', async () => {
    const { page, order, address } = await moving(390);
    expect(await order('o-5').getByRole('link', { name: 'AAPL', exact: true }).count()).toBe(1);
    await order('o-5').locator('.col-status').click();
    await page.waitForURL(/\/orders\/account\/o-5$/);
    await page.goBack();
    await order('o-4').locator('.col-updated').click();
    await page.waitForURL(/\/orders\/account\/o-4$/);
    await page.goto(`${address}/console?group=account`);
    await page.locator('.rows .group .soft').first().click();
    await eventually(async () => expect(await page.locator('.rows .row').count()).toBe(1));
    expect(new URL(page.url()).pathname).toBe('/console');
  });
});
