// What a user saw: Kafka refused every record because a clock was two hours ahead, and no message said so.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { toPublishError } from '../../../src/service/log/publish-sends.ts';
import { ClockWatch } from '../../../src/service/run/clock-watch.ts';
import type { HttpOutcome } from '../../../src/venue/platform/http.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const hourMs = 3_600_000;

async function rig() {
  const clock = new VirtualClock();
  const theirs = { database: 0, platform: 0, age: undefined as string | undefined, away: false };
  const metrics = createMetrics();
  const watch = new ClockWatch({
    clock,
    log: silentLog,
    metrics: metrics.process,
    databaseMs: async () => {
      await clock.sleep(20);
      if (theirs.away) throw new Error('the database is away');
      return clock.nowMs() + theirs.database;
    },
  });
  const http = watch.watching({
    request: async (): Promise<HttpOutcome> => {
      await clock.sleep(30);
      const date = new Date(clock.nowMs() + theirs.platform).toUTCString();
      const headers = { date, ...(theirs.age !== undefined && { age: theirs.age }) };
      return { kind: 'answered', status: 200, headers, text: '' };
    },
    close: async () => undefined,
  });
  const ask = async () => {
    const asked = http.request({ operation: 'x', method: 'GET', url: 'http://platform', headers: {} });
    await clock.advance(100);
    await asked;
  };
  await watch.rounds.start();
  await clock.advance(1_000);
  const end = async () => {
    const drained = watch.rounds.drain();
    await clock.advance(1);
    await drained;
  };
  return { clock, theirs, watch, metrics, ask, end };
}

it('the doubt says by how much, against which clock, and never which is wrong', async () => {
  const { clock, theirs, watch, metrics, ask, end } = await rig();
  await ask();
  expect(watch.doubt()).toBeUndefined();
  clock.stepWall(2 * hourMs);
  theirs.database = theirs.platform = -2 * hourMs;
  await clock.advance(61_000);
  const seen = 'the clock of this process is 7200.0 s ahead of Postgres, and';
  expect(watch.doubt()?.detail).toBe(`${seen} agrees with that of the platform`);
  await ask();
  expect(watch.doubt()?.detail).toMatch(/ahead of Postgres, and is 7\d\d\d\.\d s ahead of the platform$/);
  expect((await metrics.process.clockAhead.get()).values.map(({ value }) => Math.round(value / 60))).toEqual([
    120, 120,
  ]);
  clock.stepWall(-2 * hourMs);
  theirs.database = theirs.platform = 0;
  await clock.advance(61_000);
  await ask();
  expect(watch.doubt()).toBeUndefined();
  await end();
});

it.each([
  ['postgres', -45_000, /45\.0 s ahead of Postgres, and could not be compared/],
  ['postgres', 45_000, /45\.0 s behind Postgres, and could not be compared/],
  ['platform', 100_000, /agrees with that of Postgres, and is \d+\.\d s behind the platform/],
])('a difference of %s by %i ms is named', async (of, byMs, detail) => {
  const { clock, theirs, watch, ask, end } = await rig();
  if (of === 'postgres') theirs.database = byMs;
  else {
    theirs.platform = byMs;
    await ask();
  }
  await clock.advance(61_000);
  expect(watch.doubt()?.detail).toMatch(detail);
  await end();
});

it('what can not be compared, is a copy from a cache, or lies within the bounds, is no doubt', async () => {
  const { clock, theirs, watch, ask, end } = await rig();
  theirs.database = 29_000;
  theirs.platform = 29_000;
  await ask();
  await clock.advance(61_000);
  expect(watch.doubt()).toBeUndefined();
  theirs.platform = hourMs;
  theirs.age = '3600';
  theirs.away = true;
  theirs.database = hourMs;
  await ask();
  await clock.advance(61_000);
  expect(watch.doubt()).toBeUndefined();
  await end();
});

it('a doubt ends where the clock can no longer be compared, and does not stay for ever', async () => {
  const { clock, theirs, watch, metrics, end } = await rig();
  theirs.database = hourMs;
  await clock.advance(61_000);
  expect(watch.doubt()).toBeDefined();
  theirs.away = true;
  await clock.advance(400_000);
  expect(watch.doubt()).toBeUndefined();
  expect((await metrics.process.clockAhead.get()).values).toEqual([]);
  await end();
});

it('an error of Kafka about a timestamp names the clocks', () => {
  const refusal = Object.assign(new Error('The timestamp of the message is out of acceptable range'), {
    type: 'INVALID_TIMESTAMP',
  });
  const { code, message } = toPublishError(refusal);
  expect(code).toBe('clock');
  expect(message).toMatch(/the clock of this process and that of the broker differ/);
});
