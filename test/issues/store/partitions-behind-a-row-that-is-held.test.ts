// What a user saw: A transaction was left open, and the log got no partition until nothing was stored.

import type { Pool } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Housekeeping } from '../../../src/service/run/housekeeping.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

it('a move of states that finds no end leaves time for the partitions', async () => {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const query = async (text: string) => {
    asked.push(/ensure_log_partitions|move_order_states/.exec(text)?.[0] ?? '');
    if (text.includes('ensure_log_partitions')) return { rows: [{ made: [] }] };
    // The row of one order is locked: each step looks at it again.
    return text.includes('move_order_states') ? { rows: [{ looked: 1 }] } : { rows: [], rowCount: 0 };
  };
  const housekeeping = new Housekeeping(
    { clock, log: silentLog, pool: { query } as unknown as Pool, metrics: createMetrics() },
    { partitionRows: 1_000, retentionMs: 1_000, maintainEveryMs: 60_000, countEveryMs: 60_000 },
  );
  await housekeeping.start();
  onTestFinished(() => housekeeping.drain());
  await clock.advance(300_000);
  const rounds = asked.filter((name) => name === 'ensure_log_partitions').length;
  expect(rounds).toBeGreaterThanOrEqual(2);
  expect(asked.filter((name) => name === 'move_order_states').length).toBeGreaterThan(100);
});
