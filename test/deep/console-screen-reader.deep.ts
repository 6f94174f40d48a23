import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { forFile } from '../support/commands/at-end.ts';
import { launchConsole } from '../support/rest/console-browser.ts';
import { expectAccessible } from '../support/rest/expect-accessible.ts';
import { startRest } from '../support/rest/rest-rig.ts';
import { eventually } from '../support/runs/poll.ts';

const browser = forFile(() => launchConsole());

const option = {
  ...{ orderId: 'one', quantity: '1234.5', cumQty: '40', leavesQty: '1960', price: '191.5', avgPrice: '191.25' },
  working: { quantity: '2000', price: '191.75' },
  instrument: { kind: 'option', symbol: 'GOOGL261218C00200000' },
} as const;
const prediction = {
  ...{ orderId: 'two', stream: 'prediction', certainty: 'unknown_store_lost', pendingAction: 'cancel' },
  instrument: { kind: 'prediction', symbol: 'SHUTDOWN-2026-DEC-31', outcome: 'NO' },
} as const;

async function opened(width: number, address = '') {
  const rig = await startRest({ withConsole: true, stream: { pollEveryMs: 20, pollGapMs: 1 } });
  onTestFinished(() => rig.server.drain(new AbortController().signal));
  const add = (over: object) => {
    rig.reads.addUpdate(over as Parameters<typeof rig.reads.addUpdate>[0]);
    rig.server.wake();
  };
  add(option);
  add(prediction);
  const page = await browser().newPage();
  await page.setViewportSize({ width, height: 900 });
  await page.goto(`${rig.address}/console${address}`);
  await page.getByText('2 orders', { exact: true }).first().waitFor();
  return { page, add };
}

/** A node of the accessibility tree: what a reader of the screen is given. */
interface Read {
  readonly role: string;
  readonly name: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly children: readonly Read[];
}

async function readScreen(page: Page): Promise<readonly Read[]> {
  const cdp = await page.context().newCDPSession(page);
  const { nodes } = await cdp.send('Accessibility.getFullAXTree');
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  /** In the order in which it is read; nodes that are left out give way to their children. */
  const readOf = (id: string): readonly Read[] => {
    const node = byId.get(id);
    if (node === undefined) return [];
    const children = (node.childIds ?? []).flatMap(readOf);
    if (node.ignored) return children;
    const properties = Object.fromEntries((node.properties ?? []).map(({ name, value }) => [name, value.value]));
    return [{ role: String(node.role?.value), name: String(node.name?.value ?? ''), properties, children }];
  };
  return readOf(nodes[0]?.nodeId ?? '');
}

const allOf = (nodes: readonly Read[], role: string): readonly Read[] =>
  nodes.flatMap((node) => [...(node.role === role ? [node] : []), ...allOf(node.children, role)]);

/** Each row of the grid behind its headings: its cells by the names that are read with them. */
async function readRows(page: Page): Promise<Record<string, string>[]> {
  const screen = await readScreen(page);
  const names = allOf(screen, 'columnheader').map(({ name }) => name.replace(/ [↓↑]$/, ''));
  return allOf(screen, 'row')
    .map((row) => allOf([row], 'gridcell').map(({ name }) => name))
    .filter((cells) => cells.length > 0)
    .map((cells) => {
      if (names.length > 0) expect(cells).toHaveLength(names.length);
      return Object.fromEntries(cells.map((cell, at) => [names[at] ?? at, cell]));
    });
}

describe('issue: A screen reader read “191 .50”, half a symbol at a time, and on a phone no heading at all.', () => {
  it('each cell of the blotter is read whole, under the name of its column', async () => {
    const { page } = await opened(1440);
    const [one, two] = (await readRows(page)).toSorted((a, b) => String(a['Order']).localeCompare(String(b['Order'])));
    expect(one).toMatchObject({
      ...{ Instrument: 'GOOGL261218C00200000', Side: 'buy', Status: 'part filled', Quantity: '1,234.5' },
      ...{ Price: '191.50', Working: '2,000', At: '191.75', Filled: '40', Left: '1,960', Average: '191.25' },
    });
    expect(two).toMatchObject({
      ...{ Instrument: 'SHUTDOWN-2026-DEC-31', Outcome: 'NO' },
      'In doubt': 'platform lost its store, cancel pending',
    });
    const links = allOf(await readScreen(page), 'link').map(({ name }) => name);
    expect(links).toEqual(expect.arrayContaining(['GOOGL261218C00200000', 'SHUTDOWN-2026-DEC-31']));
    await expectAccessible(page);
  });

  it('on a phone, where there are no headings, each cell has its name with it', async () => {
    const { page } = await opened(390);
    const rows = (await readRows(page)).map((row) => Object.values(row).filter((cell) => cell !== ''));
    expect(rows).toContainEqual([
      ...['Instrument GOOGL261218C00200000', 'Status part filled', 'Side buy', 'Type limit', 'Price 191.50'],
      ...['Filled 40 / 2,000', 'Account ACC-1', 'Changed Nov 21 14:30:01.000'],
    ]);
    await expectAccessible(page);
  });

  it('the sums of a group and the list of fills are read whole as well', async () => {
    const { page } = await opened(1440, '?group=account&sums=only');
    const sums = allOf(await readScreen(page), 'gridcell').map(({ name }) => name);
    expect(sums).toEqual(expect.arrayContaining(['Left 2,020', 'Filled 80']));
    // Its name has the place of several columns, so that each sum stands under its own heading.
    const heads = await page.getByRole('columnheader').count();
    expect(Number(await page.locator('.group-name').getAttribute('aria-colspan'))).toBe(heads - sums.length + 1);
    await page.getByRole('navigation').getByRole('link', { name: 'Fills' }).click();
    await page.getByRole('table', { name: 'Fills' }).locator('tbody tr').first().waitFor();
    const cells = allOf(await readScreen(page), 'cell').map(({ name }) => name);
    expect(cells).toEqual(expect.arrayContaining(['191.25']));
    expect(cells.filter((cell) => / \.\d/.test(cell))).toEqual([]);
  });
});

describe('issue: A screen reader said neither which row was chosen nor what became of its order.', () => {
  it('the chosen row is read, and then its changes and new doubts, each once and nothing else', async () => {
    const { page, add } = await opened(1440);
    await page.keyboard.press('j');
    const screen = await readScreen(page);
    const [grid] = allOf(screen, 'grid');
    expect(grid?.properties['focused']).toBe(true);
    const [chosen, ...others] = allOf(screen, 'row').filter(({ properties }) => properties['selected'] === true);
    expect(others).toEqual([]);
    expect(await page.getByRole('grid').getAttribute('aria-activedescendant')).toBe(
      await page.locator('.row.active').getAttribute('id'),
    );
    const [name, other] = chosen?.name.includes('GOOGL') === true ? [option, prediction] : [prediction, option];
    await page.evaluate(`(() => {
      globalThis.said = [];
      const region = document.querySelector('.blotter > [role=status]');
      new MutationObserver(() => said.push(region.textContent)).observe(region, { subtree: true, childList: true, characterData: true });
    })()`);
    const said = () => page.evaluate<string[]>('said');
    add({ ...other, revision: 2, cumQty: '41', leavesQty: '3' });
    add({ ...name, revision: 2, cumQty: '50', leavesQty: '1', certainty: 'certain', pendingAction: 'none' });
    await eventually(async () => expect(await said()).toEqual([expect.stringMatching(/^buy .*: part filled, 50 of /)]));
    add({ orderId: 'three', certainty: 'presumed_closed', instrument: { kind: 'equity', symbol: 'KO' } });
    await eventually(async () => expect(await said()).toHaveLength(2));
    expect((await said())[1]).toMatch(/^buy KO: part filled, 40 of 100 filled\. .+/);
    // Politely: a sentence that is being read is not cut. So are halts and doubts of the service.
    const regions = allOf(await readScreen(page), 'status');
    expect(regions.map(({ properties }) => properties['live'])).toEqual(regions.map(() => 'polite'));
    expect(JSON.stringify(regions[0])).toContain('Halted');
  });
});
