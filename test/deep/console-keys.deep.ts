import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { forFile } from '../support/commands/at-end.ts';
import { approvalId, sampleCommand } from '../support/commands/scripted-commands.ts';
import { launchConsole } from '../support/rest/console-browser.ts';
import { expectAccessible } from '../support/rest/expect-accessible.ts';
import { startRest } from '../support/rest/rest-rig.ts';
import { eventually } from '../support/runs/poll.ts';
import { fillTicket } from './parts/running-console.ts';

const browser = forFile(() => launchConsole());

/** A prediction order, `o-2` in doubt, `o-1`, and `o-0` in doubt. */
async function fourOrders() {
  const rig = await startRest({ withConsole: true, stream: { pollEveryMs: 20, pollGapMs: 1 } });
  onTestFinished(() => rig.server.drain(new AbortController().signal));
  const add = (over: Parameters<typeof rig.reads.addUpdate>[0]) => {
    rig.reads.addUpdate(over);
    rig.server.wake();
  };
  add({ orderId: 'o-0', certainty: 'unknown_gap' });
  add({ orderId: 'o-1' });
  add({ orderId: 'o-2', pendingAction: 'cancel' });
  const instrument = { kind: 'prediction', symbol: 'RAIN-26', outcome: 'NO' } as const;
  add({ stream: 'prediction', orderId: 'p-3', instrument, price: '0.4', working: { quantity: '100', price: '0.4' } });
  const page = await browser().newPage();
  await page.goto(`${rig.address}/console`);
  await eventually(async () => expect(await page.locator('.rows .row').count()).toBe(4));
  return { ...rig, add, page };
}

const chosen = (page: Page) => page.locator('.rows .row.active').getAttribute('id');
const choose = async (page: Page, orderId: string) => {
  await page.locator('.rows .row').filter({ hasText: orderId }).locator('.cell').first().click();
  expect(await chosen(page)).toContain(orderId);
};
/** The blotter by falling ids, and `orderId` chosen. */
async function onOrder(page: Page, address: string, orderId: string) {
  await page.goto(`${address}/console?columns=updated,order,instrument,status&sort=-order`);
  await page.locator('.rows .row').nth(3).waitFor();
  await choose(page, orderId);
}
const pathOf = (page: Page) => new URL(page.url()).pathname;
const dialog = (page: Page) => page.getByRole('dialog');
/** Of the one column that may be narrower than its text. */
const heading = (page: Page) => page.getByRole('columnheader', { name: /^Order\b/ });
const widthOf = async (page: Page) => Math.round((await heading(page).boundingBox())?.width ?? 0);
const headings = async (page: Page) =>
  (await page.getByRole('columnheader').allTextContents()).map((each) => each.trim());

type Trial = (page: Page, press: string) => Promise<void>;
const moves =
  (from: string, to: string): Trial =>
  async (page, press) => {
    await choose(page, from);
    await page.keyboard.press(press);
    await eventually(async () => expect(await chosen(page)).toContain(to));
  };
const resizes =
  (sign: number): Trial =>
  async (page, press) => {
    const before = await widthOf(page);
    await heading(page).getByRole('button').focus();
    await page.keyboard.press(press);
    await eventually(async () => expect(Math.sign((await widthOf(page)) - before)).toBe(sign));
  };
const moved =
  (sign: number): Trial =>
  async (page, press) => {
    const before = (await headings(page)).indexOf('Instrument');
    await page.getByRole('columnheader', { name: 'Instrument' }).getByRole('button').focus();
    await page.keyboard.press(press);
    await eventually(async () => expect((await headings(page)).indexOf('Instrument') - before).toBe(sign));
  };

/** What each key of the list has to do, by its name there. */
const trials: Readonly<Record<string, Trial>> = {
  j: moves('o-2', 'o-1'),
  '↓': moves('o-2', 'o-1'),
  k: moves('o-1', 'o-2'),
  '↑': moves('o-1', 'o-2'),
  d: moves('o-2', 'o-0'),
  D: moves('o-0', 'o-2'),
  Enter: async (page, press) => {
    await page.keyboard.press(press);
    await page.getByRole('heading', { name: 'Versions' }).waitFor();
  },
  x: async (page, press) => {
    await page.keyboard.press(press);
    await dialog(page).getByRole('heading', { name: 'Cancel this order?' }).waitFor();
  },
  m: async (page, press) => {
    await page.keyboard.press(press);
    await page.getByRole('button', { name: 'Cancel 1 order …' }).waitFor();
  },
  r: async (page, press) => {
    await choose(page, 'p-3');
    await page.keyboard.press(press);
    await dialog(page).getByRole('heading', { name: 'Replace the terms' }).waitFor();
  },
  n: async (page, press) => {
    await page.keyboard.press(press);
    await page.getByRole('heading', { name: 'Place an order' }).waitFor();
  },
  '/': async (page, press) => {
    await page.keyboard.press(press);
    await dialog(page).getByRole('combobox').waitFor();
  },
  f: async (page, press) => {
    await page.keyboard.press(press);
    expect(await page.evaluate('document.activeElement.id')).toBe('search');
  },
  o: async (page, press) => {
    await page.keyboard.press(press);
    await page.waitForURL(/open=any/);
  },
  p: async (page, press) => {
    await page.keyboard.press(press);
    await page.getByRole('button', { name: /^Paused/ }).waitFor();
  },
  'Shift ←': resizes(-1),
  'Shift →': resizes(1),
  '<': moved(-1),
  '>': moved(1),
  Esc: async (page, press) => {
    await page.getByRole('link', { name: 'Fills' }).click();
    await page.keyboard.press(press);
    await eventually(() => expect(pathOf(page)).toBe('/console'));
  },
  '?': async (page, press) => {
    await page.keyboard.press(press);
    await dialog(page).getByRole('heading', { name: 'Keys' }).waitFor();
  },
};

/** As Playwright names a key of the list. */
const pressOf = (shown: string) =>
  shown
    .replace('Shift ', 'Shift+')
    .replace('↓', 'ArrowDown')
    .replace('↑', 'ArrowUp')
    .replace('←', 'ArrowLeft')
    .replace('→', 'ArrowRight')
    .replace(/^D$/, 'Shift+D')
    .replace(/^Esc$/, 'Escape');

describe('the keys', () => {
  it('are those in the list that `?` shows, and each does what it says', async () => {
    const { page, address } = await fourOrders();
    await page.keyboard.press('?');
    await dialog(page).waitFor();
    const listed = await page.locator('.keys kbd').allTextContents();
    expect(new Set(listed)).toEqual(new Set(Object.keys(trials)));
    await expectAccessible(page);
    for (const shown of listed) {
      await onOrder(page, address, 'o-2');
      await trials[shown]?.(page, pressOf(shown));
    }
  });

  it('cancel and replace the chosen row once it is confirmed, and say why they can’t', async () => {
    const { page, address, commands } = await fourOrders();
    await onOrder(page, address, 'o-1');
    await page.keyboard.press('r');
    await page.getByRole('status').getByText('This order cannot be replaced.').waitFor();
    expect(await dialog(page).count()).toBe(0);
    await choose(page, 'p-3');
    await page.getByText('Only an open prediction').waitFor({ state: 'hidden' });
    await choose(page, 'o-1');
    await page.keyboard.press('x');
    await dialog(page)
      .getByText(/^buy 100 AAPL at [\d.]+, part filled, 40 filled, ACC-1, revision 1$/)
      .waitFor();
    // The keys are silent below a dialog.
    for (const key of ['j', 'p', 'n', 'd']) await page.keyboard.press(key);
    expect([pathOf(page), await chosen(page)]).toEqual(['/console', expect.stringContaining('o-1')]);
    await expectAccessible(page);
    await dialog(page).getByRole('button', { name: 'Cancel the order' }).click();
    await page.getByRole('status').getByText('Your cancel of buy 100 AAPL').waitFor();
    expect(commands.submissions).toMatchObject([{ request: { kind: 'cancel', orderId: 'o-1' } }]);
    await choose(page, 'p-3');
    await page.keyboard.press('r');
    await dialog(page).getByLabel('Price').fill('0.45');
    await dialog(page).getByRole('button', { name: 'Replace' }).click();
    await page.getByRole('status').getByText('Your replace of buy 100 RAIN-26 NO').waitFor();
    expect(commands.submissions[1]).toMatchObject({
      request: { kind: 'replace', orderId: 'p-3', terms: { price: '0.45' } },
    });
    await expectAccessible(page);
  });
});

describe('issue: Three orders could be cancelled only by three dialogs, one after the other.', () => {
  const cancelButton = (page: Page, orders: string) => page.getByRole('button', { name: `Cancel ${orders} …` });
  const selected = (page: Page) => page.getByRole('row', { selected: true }).count();
  const click = async (page: Page, orderId: string) =>
    page
      .locator('.rows .row')
      .filter({ hasText: orderId })
      .locator('.cell')
      .first()
      .click({ modifiers: ['Shift'] });

  it.each([1440, 800, 390])(
    'marked orders are cancelled after one question that names them, and each answer is shown, at %i pixels',
    async (width) => {
      const { page, address, commands, add } = await fourOrders();
      await onOrder(page, address, 'o-2');
      for (const key of ['m', 'j', 'm', 'j']) await page.keyboard.press(key);
      await cancelButton(page, '2 orders').waitFor();
      expect(await selected(page)).toBe(2);
      await click(page, 'p-3');
      await cancelButton(page, '3 orders').waitFor();
      // A second mark takes it back, and Escape all; no mark has moved the rows.
      await click(page, 'o-1');
      await cancelButton(page, '2 orders').waitFor();
      await page.keyboard.press('Escape');
      await eventually(async () => expect([await selected(page), pathOf(page)]).toEqual([1, '/console']));
      for (const orderId of ['o-0', 'o-1', 'p-3']) await click(page, orderId);
      await page.setViewportSize({ width, height: 900 });
      await expectAccessible(page);
      // One that has left the view is none of them.
      add({ orderId: 'o-0', revision: 2, status: 'canceled', leavesQty: '0' });
      await cancelButton(page, '2 orders').waitFor();
      commands.submitAnswer = ({ request }) =>
        request.stream === 'prediction'
          ? { kind: 'declined', code: 'ACCOUNT_NOT_TRADED', message: 'the account is not traded here' }
          : { kind: 'journaled', command: sampleCommand({ request, orderId: 'o-1' }), replayed: false };
      await page.keyboard.press('x');
      expect(await dialog(page).getByRole('listitem').allTextContents()).toEqual([
        expect.stringContaining('buy 100 AAPL at'),
        expect.stringContaining('buy 100 RAIN-26 NO at 0.4, part filled, 40 filled, ACC-1'),
      ]);
      await expectAccessible(page);
      expect(commands.submissions).toEqual([]);
      await dialog(page).getByRole('button', { name: 'Cancel 2 orders' }).click();
      const answers = page.getByRole('region', { name: 'Cancels' });
      await answers.getByRole('status').getByText('Your cancel of buy 100 AAPL').waitFor();
      await answers.getByRole('alert').getByText('Not cancelled: buy 100 RAIN-26 NO.').waitFor();
      expect(commands.submissions.map(({ request }) => request)).toMatchObject([
        { kind: 'cancel', orderId: 'o-1' },
        { kind: 'cancel', orderId: 'p-3' },
      ]);
      await page.getByRole('button', { name: /^Cancel \d/ }).waitFor({ state: 'hidden' });
      expect(await page.evaluate(`document.activeElement.getAttribute('role')`)).toBe('grid');
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Try 1 order again' }).click();
      await eventually(() => expect(commands.submissions).toHaveLength(3));
      await page.getByRole('button', { name: 'Hide' }).click();
      await answers.waitFor({ state: 'hidden' });
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    },
  );

  it('a mark moves no row, also not that under a pointer which marks the next', async () => {
    const { page, address } = await fourOrders();
    await onOrder(page, address, 'o-2');
    const topOf = async () => (await page.locator('.rows .row').first().boundingBox())?.y;
    const before = await topOf();
    await click(page, 'o-1');
    await cancelButton(page, '1 order').waitFor();
    expect(await topOf()).toBe(before);
    expect(await page.evaluate('String(getSelection())')).toBe('');
  });
});

describe('issue: `x` and Enter by mistake cancelled an order that had drifted out of sight.', () => {
  const focused = (page: Page) => page.evaluate('document.activeElement.textContent');

  it('the keys first bring the order into view, and Enter sends nothing', async () => {
    const { page, commands, add } = await fourOrders();
    const isSeen = () =>
      page.evaluate<boolean>(`(() => {
        const row = document.querySelector('.rows .row.active')?.getBoundingClientRect();
        const view = document.querySelector('.scroller').getBoundingClientRect();
        return row !== undefined && row.top >= view.top && row.bottom <= view.bottom + 1;
      })()`);
    await page.locator('[id="row-prediction:p-3"] .col-status').click();
    for (const key of ['x', 'r', 'm']) {
      for (let at = 0; at < 60; at += 1) add({ orderId: `${key}-${at}` });
      await eventually(async () => expect(await isSeen()).toBe(false));
      await page.keyboard.press(key);
      await eventually(async () => expect(await isSeen()).toBe(true));
      if (key === 'm') break;
      await dialog(page).getByText('buy 100 RAIN-26 NO at 0.4, part filled, 40 filled, ACC-1, revision 1').waitFor();
      if (key === 'x') {
        await eventually(async () => expect(await focused(page)).toBe('Not now'));
        await page.keyboard.press('Enter');
      } else await page.keyboard.press('Escape');
      await dialog(page).waitFor({ state: 'hidden' });
    }
    await page.keyboard.press('x');
    await dialog(page).getByRole('button', { name: 'Cancel 1 order' }).waitFor();
    await eventually(async () => expect(await focused(page)).toBe('Not now'));
    await page.keyboard.press('Enter');
    await dialog(page).waitFor({ state: 'hidden' });
    expect(commands.submissions).toEqual([]);
  });
});

describe('issue: Enter right after the text of a search was lost.', () => {
  it('it opens the first hit once there is an answer, unless the reader types on', async () => {
    const { page, address } = await fourOrders();
    await page.keyboard.press('/');
    await page.keyboard.type('o-1');
    await page.keyboard.press('Enter');
    // The lists in memory know no text: their first order is always found first.
    await page.waitForURL(/\/orders\/account\/o-0$/);
    await page.goto(`${address}/console`);
    await page.locator('.rows .row').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('o-');
    await page.keyboard.press('Enter');
    await page.keyboard.type('2');
    await page.getByRole('option').filter({ hasText: 'Order' }).first().waitFor();
    expect([await dialog(page).count(), pathOf(page)]).toEqual([1, '/console']);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/orders\/account\/o-0$/);
    // Before the page has drawn that it is searching.
    await page.goto(`${address}/console`);
    await page.locator('.rows .row').first().waitFor();
    await page.keyboard.press('/');
    await page.evaluate(`(() => {
      const input = document.querySelector('.search-box input');
      input.value = 'o-1';
      input.dispatchEvent(new InputEvent('input', { bubbles: true }));
      input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
    })()`);
    await page.waitForURL(/\/orders\/account\/o-0$/);
  });
});

describe('issue: After a click on a button, the keys pressed the button and not the row.', () => {
  it('each button of the blotter leaves the next keys to the rows', async () => {
    const { page, address } = await fourOrders();
    const clicked = [
      page.getByRole('button', { name: 'Pause' }),
      page.getByRole('columnheader', { name: 'Status' }).getByRole('button'),
      page.getByLabel('Open only'),
      page.getByRole('link', { name: 'Orders' }),
      page.getByRole('button', { name: 'CSV' }),
    ];
    for (const button of clicked) {
      for (const keys of [['j', 'Enter'], ['Enter']]) {
        await onOrder(page, address, 'o-1');
        await button.click();
        for (const key of keys) await page.keyboard.press(key);
        await page.getByRole('heading', { name: 'Versions' }).waitFor();
      }
    }
  });

  it('a button that has the focus by a key is still pressed by Enter', async () => {
    const { page, address } = await fourOrders();
    await onOrder(page, address, 'o-1');
    await page.getByRole('button', { name: 'CSV' }).click();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Paused/ }).waitFor();
    expect(pathOf(page)).toBe('/console');
  });

  it('Escape closes a menu, and does not leave its screen', async () => {
    const { page, address } = await fourOrders();
    await page.getByRole('link', { name: 'Fills' }).click();
    await page.getByText('Times', { exact: true }).click();
    await page.keyboard.press('Escape');
    await page.getByLabel('From').waitFor({ state: 'hidden' });
    expect([pathOf(page), address !== '']).toEqual(['/console/fills', true]);
  });
});

describe('issue: A ticket began with a side, and its button did not say the order.', () => {
  const submit = (page: Page) => page.locator('.ticket button[type=submit]');

  it('its button says the whole order, once each choice was made by the reader', async () => {
    const { page, address, commands, reads } = await fourOrders();
    reads.accountRows = [
      { stream: 'account', accountId: 'ACC-1', isSim: true, openOrders: 1 },
      { stream: 'prediction', accountId: 'ACC-1', isSim: true, openOrders: 1 },
    ];
    await page.goto(`${address}/console/place`);
    await page.getByRole('option', { name: 'ACC-1, simulated' }).waitFor({ state: 'attached' });
    expect(await page.getByLabel('Side').inputValue()).toBe('');
    await fillTicket(page, { Account: 'ACC-1', Symbol: 'KO', Quantity: '1000', Price: '64.05' });
    expect(await submit(page).textContent()).toBe('Place the order');
    await submit(page).click();
    await page.getByText('is missing', { exact: true }).waitFor();
    expect(await page.getByLabel('Side').getAttribute('aria-invalid')).toBe('true');
    expect(commands.submissions).toEqual([]);
    await fillTicket(page, { Side: 'SELL' });
    expect(await submit(page).textContent()).toBe('Sell 1,000 KO at 64.05, day');
    await fillTicket(page, { Type: 'STOP_LIMIT', 'Stop price': '64.2', 'Time in force': 'GTC' });
    expect(await submit(page).textContent()).toBe('Sell 1,000 KO stop limit at 64.05 stop 64.2, until canceled');
    await fillTicket(page, { Type: 'MARKET', 'Time in force': 'DAY' });
    expect(await submit(page).textContent()).toBe('Sell 1,000 KO market, day');
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Prediction' }).click();
    expect([
      await page.getByLabel('Side').inputValue(),
      await page.getByLabel('Outcome', { exact: true }).inputValue(),
    ]).toEqual(['', '']);
    await fillTicket(page, { Market: 'RAIN-26', Side: 'buy', Price: '0.4' });
    expect(await submit(page).textContent()).toBe('Place the order');
    await fillTicket(page, { Outcome: 'NO', 'Time in force': 'gtd' });
    expect(await submit(page).textContent()).toBe('Place the order');
    await fillTicket(page, { 'Ends at': '2027-01-01T00:00:00Z' });
    expect(await submit(page).textContent()).toBe('Buy 1,000 RAIN-26 NO at 0.4, until 2027-01-01T00:00:00Z');

    await page.getByRole('button', { name: 'Option' }).click();
    await page.getByRole('button', { name: 'Add a leg' }).click();
    await fillTicket(page, { Account: 'ACC-1', Underlying: 'AAPL', 'Quantity of the whole': '3', 'Net price': '0.1' });
    for (const [at, side] of ['BUY', 'SELL'].entries()) {
      expect(await submit(page).textContent()).toBe('Place the order');
      const leg = page.getByRole('group', { name: `Leg ${at + 1}` });
      expect(await leg.getByLabel('Side').inputValue()).toBe('');
      await fillTicket(leg, { 'Option symbol': `AAPL261218C0020${at}000`, Side: side });
    }
    expect(await submit(page).textContent()).toBe(
      '3 AAPL at 0.1, day: buy 1 AAPL261218C00200000 to open, sell 1 AAPL261218C00201000 to open',
    );
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await expectAccessible(page);
    await submit(page).click();
    await eventually(() => expect(commands.submissions).toHaveLength(1));
    expect(commands.submissions[0]).toMatchObject({
      request: { terms: { legs: [{ side: 'BUY' }, { side: 'SELL' }] } },
    });
  });

  it('symbols are completed from those of known orders, by the kind of the ticket', async () => {
    const { page, address, add } = await fourOrders();
    const legs = [{ symbol: 'AAPL261218C00200000', side: 'buy', ratioQty: '1' }];
    add({ orderId: 'o-4', instrument: { kind: 'equity', symbol: 'KO' } });
    add({ orderId: 'o-5', instrument: { kind: 'option', symbol: 'SPX', legs } });
    await page.goto(`${address}/console`);
    await page.getByText('6 orders').waitFor();
    await page.keyboard.press('n');
    const offered = async (label: string) => {
      await page.getByLabel(label, { exact: true }).focus();
      return page.evaluate<string[]>('[...document.activeElement.list.options].map(({ value }) => value)');
    };
    await eventually(async () => expect(await offered('Symbol')).toEqual(['AAPL', 'KO']));
    await fillTicket(page, { Symbol: 'k' });
    await eventually(async () => expect(await offered('Symbol')).toEqual(['KO']));
    await page.getByRole('button', { name: 'Option' }).click();
    await fillTicket(page, { Underlying: '' });
    await eventually(async () => expect(await offered('Underlying')).toEqual(['SPX']));
    await eventually(async () => expect(await offered('Option symbol')).toEqual(['AAPL261218C00200000']));
    await page.getByRole('button', { name: 'Prediction' }).click();
    await eventually(async () => expect(await offered('Market')).toEqual(['RAIN-26']));
  });

  it('the quote with its age is there as soon as the symbol is, and asks for nothing to be placed', async () => {
    const { page, address, commands, reads } = await fourOrders();
    reads.accountRows = [{ stream: 'account', accountId: 'ACC-1', isSim: true, openOrders: 1 }];
    if (commands.previewAnswer.kind !== 'done') throw new Error('no preview');
    commands.previewAnswer = {
      ...commands.previewAnswer,
      quotes: [
        { kind: 'equity', symbol: 'KO', quote: { bid: '64', ask: '64.1', last: '64.05', ageMs: 3_000 } },
      ] as never,
    };
    await page.goto(`${address}/console/place?accountId=ACC-1&symbol=KO`);
    const panel = page.locator('.comes-to');
    await panel.getByText(/^bid 64, ask 64.1, last 64.05, \d+ s old$/).waitFor();
    await panel.getByText('are shown once the fields are filled in').waitFor();
    expect(await panel.getByText('at most').count()).toBe(0);
    await fillTicket(page, { Side: 'SELL', Quantity: '5', Price: '64' });
    await panel.getByText('1,875 USD at most').waitFor();
    expect(commands.submissions).toEqual([]);
  });

  it('takes a number as the console prints it, marks what is none, and promises nothing without a quote', async () => {
    const { page, address, commands } = await fourOrders();
    await page.goto(`${address}/console/place?accountId=ACC-1&symbol=KO`);
    await fillTicket(page, { Side: 'SELL', Quantity: 'ten', Price: '12,5' });
    await eventually(async () =>
      expect(await page.locator('.field .fault').allTextContents()).toEqual([
        'is not a number such as 12.5',
        'is not a number such as 12.5',
      ]),
    );
    expect(await page.getByLabel('Quantity').getAttribute('aria-invalid')).toBe('true');
    const panel = page.locator('.comes-to');
    await panel.getByText('Look at the fields that are marked.').waitFor();
    await expectAccessible(page);
    await fillTicket(page, { Quantity: '1,000', Price: '1,234.5' });
    await panel.getByText('Not checked by the platform, which gave no quote.').waitFor();
    await panel.getByText('1,875 USD at most').waitFor();
    expect(await page.locator('.field .fault').count()).toBe(0);
    expect(await submit(page).textContent()).toBe('Sell 1,000 KO at 1,234.5, day');
    await fillTicket(page, { Type: 'MARKET' });
    await panel.getByText('about 1,875 USD').waitFor();
    await fillTicket(page, { Type: 'LIMIT' });
    await submit(page).click();
    await eventually(() => expect(commands.submissions).toHaveLength(1));
    expect(commands.submissions[0]).toMatchObject({ request: { terms: { qty: '1000', price: '1234.5' } } });
  });
});

describe('issue: A ticket that crosses the market, or would be refused, looked as any other.', () => {
  const button = (page: Page) => page.locator('.ticket button[type=submit]');
  const described = (page: Page) =>
    button(page).evaluate((each) =>
      (each.getAttribute('aria-describedby') ?? '')
        .split(' ')
        .map((id: string) => each.ownerDocument.getElementById(id)?.textContent?.trim())
        .join(' ')
        .trim(),
    );

  async function ticket() {
    const rig = await fourOrders();
    const { page, address, commands, reads } = rig;
    reads.accountRows = [{ stream: 'account', accountId: 'ACC-1', isSim: true, openOrders: 1 }];
    if (commands.previewAnswer.kind !== 'done') throw new Error('no preview');
    const done = {
      ...commands.previewAnswer,
      limits: [{ limit: 'maxQuantity', bound: '6', value: '5', broken: false }] as never,
      quotes: [
        { kind: 'equity', symbol: 'KO', quote: { bid: '64', ask: '64.1', last: '64.05', ageMs: 3_000 } },
      ] as never,
    };
    commands.previewAnswer = done;
    await page.goto(`${address}/console/place?accountId=ACC-1&symbol=KO`);
    await page
      .locator('.comes-to')
      .getByText(/bid 64, ask 64.1/)
      .waitFor();
    return { ...rig, done };
  }

  it.each([1440, 800, 390])(
    'it says so beside its button, with the quote and its age, and is sent all the same, at %i pixels',
    async (width) => {
      const { page, commands } = await ticket();
      await page.setViewportSize({ width, height: 900 });
      await fillTicket(page, { Side: 'BUY', Quantity: '5', Price: '64.05' });
      expect(await described(page)).toBe('');
      await fillTicket(page, { Price: '64.1' });
      expect(await described(page)).toMatch(
        /^The price 64.1 is at or above the ask of 64.1, so the order may trade at once. That quote is \d+ s old.$/,
      );
      await expectAccessible(page);
      await fillTicket(page, { Side: 'SELL', Type: 'STOP', 'Stop price': '65' });
      expect(await described(page)).toContain(
        'The stop 65 is at or above the bid of 64, so the order may be triggered',
      );
      await fillTicket(page, { Type: 'LIMIT', Price: '63' });
      expect(await described(page)).toContain('The price 63 is at or below the bid of 64');
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      expect(await page.locator('.comes-to').evaluate((panel) => panel.scrollWidth - panel.clientWidth)).toBe(0);
      await button(page).click();
      await eventually(() => expect(commands.submissions).toHaveLength(1));
    },
  );

  it('it names a size far above that of every known order', async () => {
    const { page, address, add, commands } = await ticket();
    add({ orderId: 'ko', instrument: { kind: 'equity', symbol: 'KO' }, quantity: '100', working: { quantity: '100' } });
    await page.goto(`${address}/console/place?accountId=ACC-1&symbol=KO`);
    await fillTicket(page, { Side: 'BUY', Quantity: '1,000', Price: '64' });
    expect(await described(page)).toBe('');
    await fillTicket(page, { Quantity: '1,001' });
    const words = 'The quantity 1,001 is more than ten times that of the largest known order of KO, 100.';
    await eventually(async () => expect(await described(page)).toBe(words));
    await expectAccessible(page);
    expect(commands.submissions).toEqual([]);
  });

  it('its button shows that the service would refuse, or cannot be reached, and gives the first reason', async () => {
    const { page, commands, done } = await ticket();
    const looks = () => button(page).evaluate((each) => [each.className, each.clientHeight > 0]);
    expect(await looks()).toEqual(['main', true]);
    const limit = { limit: 'maxQuantity', bound: '6', value: '7', broken: true };
    const halted = { code: 'PLACING_HALTED', message: 'placing is halted (operator): a drill' };
    const broken = { code: 'LIMIT_EXCEEDED', message: 'the limit maxQuantity is 6' };
    commands.previewAnswer = { ...done, limits: [limit], refusals: [halted, broken] } as never;
    // Before it is whole: a halt holds for each order, and a limit is not that of this one.
    await fillTicket(page, { Quantity: '7' });
    await eventually(async () => expect(await described(page)).toBe('Placing is halted (operator): a drill.'));
    expect((await looks())[0]).toBe('main held');
    commands.previewAnswer = { ...done, limits: [limit], refusals: [broken] } as never;
    await fillTicket(page, { Side: 'BUY', Price: '64' });
    const words = 'The limit “max quantity” is 6, and this order would make it 7.';
    await eventually(async () => expect(await described(page)).toBe(words));
    await expectAccessible(page);
    commands.previewAnswer = done;
    await fillTicket(page, { Quantity: '5' });
    await eventually(async () => expect([...(await looks()), await described(page)]).toEqual(['main', true, '']));
    await page.context().setOffline(true);
    onTestFinished(() => page.context().setOffline(false));
    await eventually(async () => expect(await described(page)).toMatch(/^(Stream cut|Service silent): /));
    expect((await looks())[0]).toBe('main held');
    expect(await button(page).isDisabled()).toBe(false);
    expect(commands.submissions).toEqual([]);
  });
});

describe('issue: On a narrow screen a word broke, and nothing said that the links go on.', () => {
  it.each([1440, 1000, 800])('each word of a command is whole at %i pixels', async (width) => {
    const { page, address, reads } = await fourOrders();
    const orderId = '8c0f7f5e-8d44-4d13-9f0b-27f1b7f3a111';
    const terms = { quantity: '2035', price: '0.45', timeInForce: 'gtc' } as const;
    const request = { kind: 'replace', stream: 'prediction', accountId: 'SIM-1001', orderId, terms } as const;
    const command = { request, orderId, callerRef: 'rebalance-2026-11-29' };
    reads.commands = [
      { command: sampleCommand({ ...command, state: 'unknown' }), evidence: [] },
      { command: sampleCommand({ ...command, commandId: approvalId }), evidence: [] },
    ];
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${address}/console/commands`);
    await page.locator('tbody tr').nth(1).waitFor();
    const broken = `[...document.querySelectorAll('.commands .kind, .commands .status')].filter((each) => each.getClientRects().length > 1).map((each) => each.textContent)`;
    expect(await page.evaluate(broken)).toEqual([]);
    expect(await page.locator('.panel').evaluate((panel) => panel.scrollWidth - panel.clientWidth)).toBe(0);
    await expectAccessible(page);
  });

  it('the line of links on a phone shows at which end it goes on', async () => {
    const { page } = await fourOrders();
    await page.setViewportSize({ width: 390, height: 844 });
    const links = page.getByRole('navigation');
    await eventually(async () => expect(await links.getAttribute('data-more')).toBe('right'));
    await links.evaluate((line) => line.scrollTo({ left: 40 }));
    await eventually(async () => expect(await links.getAttribute('data-more')).toBe('left right'));
    await links.evaluate((line) => line.scrollTo({ left: 4_000 }));
    await eventually(async () => expect(await links.getAttribute('data-more')).toBe('left'));
    const filters = page.getByRole('search');
    expect(await filters.getAttribute('data-more')).toBe('right');
    await expectAccessible(page);
    const mask = () => page.evaluate<string>(`getComputedStyle(document.querySelector('.filters')).maskImage`);
    expect(await mask()).toMatch(/rgb\(0, 0, 0\) 0px, .*calc\(100% - 39px\)/);
    // An open menu is a part of the line, and is whole.
    await page.getByText('Group', { exact: true }).click();
    expect(await mask()).toBe('none');
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 1440, height: 844 });
    await eventually(async () => expect(await links.getAttribute('data-more')).toBe(''));
    expect(await filters.getAttribute('data-more')).toBe('');
  });
});

it('the row of a cancel or a replace says the side and instrument of its order, where that is known', async () => {
  const { page, address, reads } = await fourOrders();
  const of = (id: string, request: object, orderId: string) => ({
    command: { ...sampleCommand({ request, orderId } as never), commandId: `6d5c0f0e-3b1f-4c43-9d7b-2f1f3e0f6a${id}` },
    evidence: [],
  });
  const cancel = { kind: 'cancel', stream: 'account', accountId: 'ACC-1' };
  const replace = { kind: 'replace', stream: 'prediction', accountId: 'ACC-1', terms: { price: '0.45' } };
  reads.commands = [
    of('11', { ...cancel, orderId: 'o-1' }, 'o-1'),
    of('12', { ...cancel, orderId: 'long-over' }, 'long-over'),
    of('13', { ...replace, orderId: 'p-3' }, 'p-3'),
  ];
  await page.goto(`${address}/console/commands`);
  const texts = async () =>
    (await page.locator('td[data-label=What]').allTextContents()).map((text) => text.trim()).toSorted();
  await eventually(async () =>
    expect(await texts()).toEqual(['cancel', 'cancel buy AAPL', 'replace buy RAIN-26 NO to at 0.45']),
  );
  await expectAccessible(page);
});

it.each([1440, 800, 390])(
  'the page of an order in doubt has no fault of accessibility at %i pixels, with a record and a command',
  async (width) => {
    const { page, address, add, reads } = await fourOrders();
    const order = { orderId: 'o-9', pendingAction: 'cancel', conflict: 'the list has more filled' } as const;
    add({ ...order, certainty: 'unknown_gap', rejectReason: 'TOO_LATE', rejectText: 'too late' });
    add({ ...order, revision: 2, cumQty: '60', leavesQty: '40', working: { quantity: '100', price: '190' } });
    reads.commands = [{ command: sampleCommand({ orderId: 'o-9' }), evidence: [] }];
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${address}/console/orders/account/o-9`);
    await page.getByRole('table', { name: 'Commands' }).waitFor();
    await page.getByText('Record', { exact: true }).first().click();
    await page.getByRole('button', { name: 'Cancel order' }).waitFor();
    await expectAccessible(page);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  },
);
