import { expect, it } from 'vitest';
import { RecentCount } from '../../src/runtime/recent-count.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';

it('counts the events of the last hour, and says when the first of them was', async () => {
  const clock = new VirtualClock();
  const count = new RecentCount(clock);
  expect(count.lastHour()).toEqual({ events: 0 });
  await clock.advance(30_000);
  const firstMs = clock.nowMs();
  count.add();
  count.add();
  await clock.advance(50 * 60_000);
  const laterMs = clock.nowMs();
  count.add();
  expect(count.lastHour()).toEqual({ events: 3, firstMs });
  await clock.advance(11 * 60_000);
  expect(count.lastHour()).toEqual({ events: 1, firstMs: laterMs });
  await clock.advance(61 * 60_000);
  expect(count.lastHour()).toEqual({ events: 0 });
});
