import type { Pool } from 'pg';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Housekeeping } from '../../../src/service/run/housekeeping.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

it('says once for each time who keeps the oldest partition of the log by an old snapshot', async () => {
  const clock = new VirtualClock();
  const said: (readonly string[])[] = [];
  const write = (line: string) => {
    const { keptBy } = JSON.parse(line) as { readonly keptBy?: string[] };
    if (keptBy !== undefined) said.push(keptBy);
  };
  let by: string[] = [];
  const query = async (text: string) => {
    if (text.includes('log_kept_by')) return { rows: [{ by }] };
    return { rows: text.includes('ensure_log_partitions') ? [{ made: [] }] : [], rowCount: 0 };
  };
  const housekeeping = new Housekeeping(
    { clock, log: pino({ base: null }, { write }), pool: { query } as unknown as Pool, metrics: createMetrics() },
    { partitionRows: 1_000, retentionMs: 1_000, maintainEveryMs: 60_000, countEveryMs: 60_000 },
  );
  await housekeeping.start();
  onTestFinished(() => housekeeping.drain());
  await clock.advance(120_000);
  for (const holders of [['session 7 (report)'], [], ['replication slot old']]) {
    by = holders;
    await clock.advance(180_000);
  }
  expect(said).toEqual([['session 7 (report)'], ['replication slot old']]);
});
