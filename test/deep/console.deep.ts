import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { withAdmin } from '../../src/service/log/with-admin.ts';
import { forFile } from '../support/commands/at-end.ts';
import { sampleRow } from '../support/orders/memory-dead-letters.ts';
import { runningSandbox } from '../support/platform/sandbox.ts';
import { launchConsole } from '../support/rest/console-browser.ts';
import { expectAccessible } from '../support/rest/expect-accessible.ts';
import { type RestRigOptions, sha256, startRest } from '../support/rest/rest-rig.ts';
import { followedAccount, sampledMs } from '../support/rest/status-parts.ts';
import { eventually } from '../support/runs/poll.ts';
import { World } from '../support/runs/service-under-test.ts';
import { kafkaDeps, kafkaOptions } from '../support/servers/kafka-fixture.ts';

/** One service with a market, and one browser, for all of them. */
const parts = forFile(async () => {
  const { description } = await runningSandbox({ market: { rate: 20, openOrders: 20, knownOrders: 60 } });
  const world = await World.create({ platform: platformSettings(description) });
  const service = await world.serve();
  await service.waitLive();
  return { world, rest: await service.restAddress(), browser: await launchConsole() };
});

async function inMemory(options: RestRigOptions = {}) {
  const rig = await startRest({ withConsole: true, stream: { pollEveryMs: 20, pollGapMs: 1 }, ...options });
  onTestFinished(() => rig.server.drain(new AbortController().signal));
  const add = (over: Parameters<typeof rig.reads.addUpdate>[0]) => {
    rig.reads.addUpdate(over);
    rig.server.wake();
  };
  return { ...rig, add };
}

const rowWith = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

/** Gives the reason that the open dialog asks for, and presses its button. */
async function giveReason(page: Page, reason: string, label: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason, for the record').fill(reason);
  await dialog.getByRole('button', { name: label, exact: true }).click();
  await dialog.waitFor({ state: 'hidden' });
}

const rowsOf = (page: Page, table: string) => page.getByRole('table', { name: table }).locator('tbody tr');

/**
 * Whether the lines of a chart are on its canvas: some pixel has
 * the colour of the key of its first line.
 */
const lineIsDrawn = `(() => {
  const chart = document.querySelector('.chart');
  const [red, green, blue] = getComputedStyle(chart.querySelector('.line-1')).color.match(/\\d+/g).map(Number);
  const canvas = chart.querySelector('canvas');
  // From a copy: Chromium complains of a canvas that is read several times.
  const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height }).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 0; at < data.length; at += 4) if (data[at] === red && data[at + 1] === green && data[at + 2] === blue && data[at + 3] === 255) return true;
  return false;
})()`;

describe('the screens of operators in Chromium, on a real service', () => {
  it('reads accounts again, retries the dead letters by jobs to their end, and draws the last minutes with its consumers', async () => {
    const { world, rest, browser } = parts();
    const [known] = await world.query<{ stream: string; account: string; order: string }>(
      `select stream, account_id as account, min(order_id) as order from orders group by 1, 2 order by count(*) desc limit 1`,
    );
    if (known === undefined) throw new Error('the service knows no order');
    const { stream, account, order } = known;
    for (const orderId of [order, order, '00000000-0000-4000-8000-000000000000', null])
      await world.query(
        `insert into dead_letters (lane, batch, stream, account_id, order_id, reason, detail, raw, observed_at)
         values (0, 1, $1, $2, $3, 'bad_decimal', 'price: expected a decimal string', '{"price":1e5}', now())`,
        [stream, account, orderId],
      );
    const groupId = `${world.topics.watermarks}.late`;
    const commit = { groupId, topic: world.topics.watermarks, partitions: [{ partition: 0, offset: '0' }] };
    await eventually(() => withAdmin(kafkaDeps, kafkaOptions(world.brokers), (admin) => admin.setOffsets(commit)));

    const page = await browser.newPage();
    await page.goto(`${rest}/console/accounts`);
    const named = (verb: string) => page.getByRole('button', { name: `${verb}: ${stream} ${account}` });
    await named('Read now').click();
    await giveReason(page, 'a look', 'Read now');
    await rowsOf(page, 'Reads that were asked for')
      .filter({ hasText: 'newest changes' })
      .getByText('done', { exact: true })
      .waitFor();
    await named('Backfill').click();
    await giveReason(page, 'once more', 'Backfill');
    const backfill = rowsOf(page, 'Reads that were asked for').filter({ hasText: 'the whole account' });
    await backfill.getByText(/\d+ orders read/).waitFor();
    expect(await world.query(`select kind, result, reason from repair_requests order by id`)).toMatchObject([
      { result: 'done', reason: 'a look' },
      { kind: 'backfill', result: 'done', reason: 'once more' },
    ]);
    await expectAccessible(page);

    await page.getByRole('link', { name: 'Its dead letters' }).click();
    const rows = rowsOf(page, 'Dead letters');
    await rows.nth(3).waitFor();
    await rows.nth(0).getByRole('checkbox').check();
    await rows.nth(1).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Retry chosen (2)' }).click();
    await page.getByText('2 rows as of now.').waitFor();
    await giveReason(page, 'the new build reads it', 'Retry');
    const jobs = rowsOf(page, 'Jobs');
    await jobs.filter({ hasText: '2 chosen' }).getByText('2 of 2 done').waitFor();
    await eventually(async () => expect(await rows.count()).toBe(2));
    await page.getByRole('button', { name: 'Retry all that match' }).click();
    await page.getByText('1 of them name no order').waitFor();
    await giveReason(page, 'the rest', 'Retry');
    await jobs.filter({ hasText: '2 failed' }).getByText('the platform does not show the order any more').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Discard all that match' }).click();
    await giveReason(page, 'looked at', 'Discard');
    await page.getByText('No row matches these filters.').waitFor();
    expect(await world.query('select id from dead_letters where dealt_at is null')).toEqual([]);

    await page.goto(`${rest}/console/pipeline`);
    await rowsOf(page, 'Consumer groups').filter({ hasText: groupId }).waitFor();
    await page.locator('.chart canvas').nth(3).waitFor();
    await eventually(async () => expect(await page.evaluate(lineIsDrawn)).toBe(true));
    await expectAccessible(page);
  });
});

describe('the console in Chromium, in memory', () => {
  it('shows hostile text as text, everywhere', async () => {
    const { address, add } = await inMemory();
    const evil = '"><img src=x onerror=alert(1)><script>alert(2)</script>';
    const reversed = `\u{202e}${evil}`;
    const long = 'x'.repeat(64 * 1024);
    const order = {
      orderId: 'evil-1',
      side: evil,
      statusRaw: evil,
      certaintyReason: long,
      rejectText: reversed,
      clOrdId: evil,
      placedBy: evil,
      ...{ accountId: evil, orderType: evil, timeInForce: evil, certainty: evil, pendingAction: evil },
      ...{ clientOrderRef: reversed, venueOrderId: reversed, rejectReason: long },
    };
    add({
      ...order,
      instrument: { kind: 'equity', symbol: evil },
      extra: { 'x<img src=x onerror=alert(3)>': reversed, big: long },
    });
    const page = await parts().browser.newPage();
    await page.goto(`${address}/console?text=${encodeURIComponent('<img')}&sort=${encodeURIComponent(evil)}`);
    await rowWith(page, '<img src=x').waitFor();
    await page.goto(`${address}/console/orders/account/evil-1`);
    await page.getByRole('heading', { name: 'Versions' }).waitFor();
    await page.getByText('Record', { exact: true }).click();
    expect(await page.locator('.rung pre').textContent()).toContain(evil.replaceAll('"', '\\"'));
    expect(await page.locator('img, script:not([src])').count()).toBe(0);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  it('asks for a token, refuses a wrong one, keeps a good one for this tab, and forgets it at the end', async () => {
    const token = { name: 'desk', sha256: sha256('secret'), scopes: ['orders:read'], accounts: ['ACC-1'] };
    const { address, add } = await inMemory({ auth: { tokens: [token] } });
    add({ orderId: 'mine', accountId: 'ACC-1' });
    add({ orderId: 'foreign', accountId: 'ACC-2' });
    const page = await parts().browser.newPage();
    await page.goto(`${address}/console`);
    await page.getByLabel('Token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('does not accept').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Token').fill('secret');
    await page.keyboard.press('Enter');
    await rowWith(page, 'mine').waitFor();
    await page.reload();
    await rowWith(page, 'mine').waitFor();
    expect(await rowWith(page, 'foreign').count()).toBe(0);
    expect(page.url()).not.toContain('secret');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    expect(await page.evaluate('[sessionStorage.length, localStorage.length, document.cookie]')).toEqual([0, 0, '']);
  });

  it('comes up whole where requests for its style and for what a screen fetches later failed', async () => {
    const { address, add } = await inMemory();
    add({ orderId: 'mine', side: 'buy_to_cover' });
    const page = await parts().browser.newPage();
    const failed = new Set<string>();
    await page.route(/\/(?:style|uplot)-\w+\.(?:css|js)$/, (route) => {
      const url = route.request().url();
      if (failed.has(url)) return route.continue();
      failed.add(url);
      return route.abort('connectionreset');
    });
    await page.goto(`${address}/console`);
    await rowWith(page, 'mine').waitFor();
    // The rules of a sheet that could not be fetched cannot be read.
    const rules = '[...document.styleSheets].map(({ cssRules }) => cssRules.length)';
    await eventually(async () => expect(await page.evaluate(rules)).not.toContain(0));
    // The longest side is whole in its column.
    expect(
      await rowWith(page, 'mine')
        .locator('.side')
        .evaluate(({ parentElement: cell }) => cell && cell.scrollWidth <= cell.clientWidth),
    ).toBe(true);
    await page.getByRole('navigation').getByRole('link', { name: 'Pipeline' }).click();
    await page.locator('.chart canvas').first().waitFor();
    expect(failed.size).toBe(2);
  });

  it('asks its reader to load the page again where its script could not be fetched', async () => {
    const { address, add } = await inMemory();
    add({ orderId: 'mine' });
    const page = await parts().browser.newPage();
    await page.route(/\/main-\w+\.js$/, (route) => route.abort('connectionreset'), { times: 1 });
    await page.goto(`${address}/console`);
    await page.getByText('load the page again').waitFor();
    await page.reload();
    await rowWith(page, 'mine').waitFor();
  });

  it('filters by the address, and resumes after a cut without a lost or doubled row', async () => {
    const { address, add } = await inMemory({
      stream: { pollEveryMs: 20, pollGapMs: 1, maxAgeMs: 1_000, heartbeatEveryMs: 200 },
    });
    for (let at = 0; at < 30; at += 1) add({ orderId: `o-${at}`, side: at % 2 === 0 ? 'buy' : 'sell' });
    const page = await parts().browser.newPage();
    await page.goto(`${address}/console`);
    await page.getByText('30 orders').waitFor();
    await page.getByRole('combobox', { name: 'Side' }).selectOption('sell');
    await page.getByText('15 orders').waitFor();
    expect(new URL(page.url()).search).toBe('?side=sell');
    // The service ends each stream after a second; the page connects again and goes on by its id.
    for (let cut = 1; cut <= 3; cut += 1) {
      const connectedAgain = page.waitForRequest((request) => request.url().includes('/v1/stream'));
      for (let at = 0; at < 10; at += 1) add({ orderId: `cut-${cut}-${at}`, side: 'sell' });
      await connectedAgain;
    }
    await page.getByText('45 orders').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByText('60 orders').waitFor();
    expect(new URL(page.url()).search).toBe('');
  });

  it('shows what changed while its tab was frozen and while it was offline, and says meanwhile that it waits', async () => {
    const { address, add } = await inMemory({ stream: { pollEveryMs: 20, pollGapMs: 1, maxAgeMs: 1_000 } });
    add({ orderId: 'evening' });
    const page = await parts().browser.newPage();
    await page.goto(`${address}/console`);
    await page.getByText('1 order', { exact: true }).waitFor();
    const browser = await page.context().newCDPSession(page);
    await browser.send('Page.setWebLifecycleState', { state: 'frozen' });
    add({ orderId: 'night' });
    // The service ends each stream after a second: once another tab has connected twice, that of
    // the frozen one is over, and its page does not know.
    const awake = await parts().browser.newPage();
    await awake.goto(`${address}/console`);
    for (let times = 0; times < 2; times += 1)
      await awake.waitForRequest((request) => request.url().includes('/v1/stream'));
    add({ orderId: 'morning' });
    await browser.send('Page.setWebLifecycleState', { state: 'active' });
    await page.getByText('3 orders').waitFor();
    await page.context().setOffline(true);
    await page.getByRole('group', { name: 'Trust' }).getByText('Stream cut').waitFor();
    add({ orderId: 'in a tunnel' });
    await page.context().setOffline(false);
    await page.getByText('4 orders').waitFor();
  });

  it('shows text from outside as text to operators, leads each doubt to its runbook, and cancels a job', async () => {
    const evil = '"><img src=x onerror=alert(1)>\u202e\u0000';
    const { address, deadLetters, followed, reads } = await inMemory();
    deadLetters.rows = [sampleRow({ raw: evil, detail: evil, orderId: evil })];
    reads.accountRows = [{ stream: 'account', accountId: 'ACC-1', isSim: true, openOrders: 1 }];
    const { absent: _absent, unrecovered: _unrecovered, inDoubt: _inDoubt, ...state } = followedAccount('ACC-1');
    followed.accounts = [
      { ...state, stream: 'account', lastError: evil, silentLosses: 2, lastResyncMs: sampledMs, beside: [] },
    ];
    const page = await parts().browser.newPage();
    await page.goto(`${address}/console/dead-letters`);
    await page.getByRole('table', { name: 'Jobs' }).getByRole('button', { name: 'Cancel' }).click();
    await giveReason(page, 'asked for by mistake', 'Cancel the job');
    await page.getByRole('table', { name: 'Jobs' }).getByText('cancelled').waitFor();
    await page.getByRole('link', { name: '17', exact: true }).click();
    await page.getByText('\\u{202e}\\u{0}', { exact: false }).waitFor();
    expect(await page.locator('pre.raw').textContent()).toBe('"><img src=x onerror=alert(1)>\\u{202e}\\u{0}');
    await expectAccessible(page);
    await page.goto(`${address}/console/accounts?account=ACC-1`);
    await page.getByText(evil.slice(0, 20)).first().waitFor();
    expect(await page.locator('img, script:not([src])').count()).toBe(0);
    const opened = page.waitForEvent('popup');
    await page.getByRole('group', { name: 'Trust' }).getByRole('link', { name: 'What to do: Dead letters' }).click();
    const runbook = await opened;
    await runbook.getByText('# DeadLetters').waitFor();
    expect(new URL(runbook.url()).pathname).toBe('/console/runbooks/DeadLetters.md');
  });

  it('offers operators no action that the token may not do, and says why a screen is empty', async () => {
    const token = { name: 'reader', sha256: sha256('secret'), scopes: ['ops:read'], accounts: ['ACC-1'] };
    const { address, service } = await inMemory({ auth: { tokens: [token] } });
    service.consumersAnswer = { kind: 'unavailable' };
    const page = await parts().browser.newPage();
    await page.goto(`${address}/console/dead-letters`);
    await page.getByLabel('Token').fill('secret');
    await page.keyboard.press('Enter');
    await rowsOf(page, 'Dead letters').nth(0).waitFor();
    expect(await page.getByRole('checkbox').count()).toBe(0);
    expect(await page.getByRole('button', { name: /Retry|Discard|Cancel/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'Accounts' }).click();
    await page.getByText('This instance stands by.').waitFor();
    expect(await page.getByRole('button', { name: /Read now|Backfill/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'Pipeline' }).click();
    await page.getByText(/Kafka did not show the consumer groups in time/).waitFor();
    await expectAccessible(page);
    // On a phone the links are one line that scrolls: the current one is in view.
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`${address}/console/dead-letters`);
    const current = page.getByRole('navigation').getByRole('link', { name: 'Dead letters' });
    await eventually(async () => {
      const { x, width } = (await current.boundingBox()) ?? { x: 390, width: 0 };
      expect(x + width).toBeLessThan(390);
    });
  });
});
