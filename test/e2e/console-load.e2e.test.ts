import { expect, it, onTestFinished } from 'vitest';
import { settlesEqual, startLoad } from '../../bench/measure-console.ts';
import { OrderSource } from '../../bench/order-source.ts';
import { openPage } from '../support/browser.ts';
import { eventually } from '../support/poll.ts';
import { startRest } from '../support/rest-rig.ts';

// `node bench/console.ts` measures the same with more orders and for longer; here only the outcome counts.
it('shows each of 20,000 orders in its newest state after thousands of updates a second, with a page that stays small', async () => {
  const source = new OrderSource(20_000);
  // Streams end after two seconds, so that updates are under way when the page connects again.
  const { server, address } = await startRest({
    ...{ withConsole: true, ports: { reads: source } },
    stream: { pollGapMs: 5, maxAgeMs: 2_000, heartbeatEveryMs: 500 },
  });
  onTestFinished(() => server.drain(new AbortController().signal));
  const page = await openPage({ script: true });
  await page.goto(`${address}/console`);
  // The first updates come while the list is read.
  const stop = startLoad({ source, rate: 4_000, wake: () => server.wake() });
  await eventually(async () => expect(source.changes).toBeGreaterThan(20_000));
  stop();
  expect(await settlesEqual(page, source)).toBe(true);
  await page.getByText('20,000 orders', { exact: true }).waitFor();
  expect(await page.locator('.rows .row').count()).toBeLessThan(100);
}, 60_000);
