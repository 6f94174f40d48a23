// What a user saw: The quarantine grew without a limit when no person dealt with its rows.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Housekeeping } from '../../../src/service/run/housekeeping.ts';
import { maintainQuarantine } from '../../../src/store/maintenance.ts';
import { answerRepairs, openRepairs } from '../../../src/store/repair-requests.ts';
import { askRepair, listQuarantined, markDealt, readAnswer } from '../../support/orders/quarantine-rows.ts';
import { batch, quarantined, storeRig } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { testLog } from '../../support/runs/test-log.ts';

const hour = 3_600_000;

async function quarantineOf(count: number) {
  const rig = await storeRig();
  const rows = Array.from({ length: count }, (_, i) => quarantined({ accountId: 'A', orderId: `o-${i + 1}` }));
  expect((await rig.store.applyBatch(batch(rig.epoch, 1, [], { quarantine: rows }))).kind).toBe('committed');
  const left = async () => (await listQuarantined(rig.pool, 0n, 100)).map(({ id }) => Number(id));
  return Object.assign(rig, { left });
}

it('what nobody deals with is bounded: the oldest goes, and how much is told', async () => {
  await using rig = await quarantineOf(10);
  await markDealt(rig.pool, 2n);
  expect(await maintainQuarantine(rig.pool, { maxUndealt: 9, retentionMs: hour })).toBe(0);
  expect(await maintainQuarantine(rig.pool, { maxUndealt: 6, retentionMs: hour })).toBe(3);
  expect(await rig.left()).toEqual([5, 6, 7, 8, 9, 10]);
  expect(await rig.rows('select id from quarantine where dealt_at is not null')).toEqual([{ id: '2' }]);
});

it('the service counts what it drops, and says so as an error', async () => {
  await using rig = await quarantineOf(1);
  await rig.pool.query(
    `insert into quarantine (lane, batch, stream, reason, detail, raw, observed_at)
     select 0, 1, 'account', 'not_json', '', '', now() from generate_series(1, 20004)`,
  );
  const errors: unknown[] = [];
  const log = Object.assign(Object.create(testLog), { error: (fields: unknown) => errors.push(fields) });
  const metrics = createMetrics();
  const housekeeping = new Housekeeping(
    { pool: rig.pool, clock: systemClock, metrics, log },
    { partitionRows: 1_000, retentionMs: hour, maintainEveryMs: hour, countEveryMs: hour },
  );
  await housekeeping.start();
  await eventually(async () => expect((await metrics.ingest.quarantineDropped.get()).values[0]?.value).toBe(5));
  await housekeeping.drain();
  expect(errors).toEqual([{ dropped: 5, maxUndealt: 20_000 }]);
});

it('a request for repair is answered once, withdrawn when nobody takes it, and forgotten', async () => {
  await using rig = await quarantineOf(2);
  const [first, second, third] = [
    await askRepair(rig.pool, { kind: 'retry', stream: 'account', accountId: 'A', quarantineId: 1n }),
    await askRepair(rig.pool, { kind: 'retry', stream: 'account', accountId: 'A', quarantineId: 2n }),
    await askRepair(rig.pool, { kind: 'backfill', stream: 'account', accountId: 'A' }),
  ];
  await markDealt(rig.pool, 2n);
  const ofA = { stream: 'account', accountId: 'A', alone: true };
  expect(await openRepairs(rig.pool)).toEqual([
    { ids: [`${first}`], kind: 'retry', ...ofA, orderId: 'o-1' },
    { ids: [`${second}`], kind: 'retry', ...ofA },
    { ids: [`${third}`], kind: 'backfill', ...ofA },
  ]);
  await answerRepairs(rig.pool, [`${first}`], { outcome: 'done', detail: 'read' });
  await answerRepairs(rig.pool, [`${first}`], { outcome: 'withdrawn', detail: 'late' });
  expect(await readAnswer(rig.pool, first)).toEqual({ outcome: 'done', detail: 'read' });
  expect(await readAnswer(rig.pool, second)).toBeUndefined();

  await rig.pool.query("update repair_requests set requested_at = now() - interval '2 days' where id <> $1", [third]);
  await maintainQuarantine(rig.pool, { maxUndealt: 9, retentionMs: hour });
  expect((await openRepairs(rig.pool)).map(({ ids }) => ids)).toEqual([[`${third}`]]);
  await rig.pool.query(
    "update repair_requests set answered_at = now() - interval '2 days' where answered_at is not null",
  );
  await maintainQuarantine(rig.pool, { maxUndealt: 9, retentionMs: hour });
  expect(await rig.rows('select id from repair_requests')).toEqual([{ id: String(third) }]);
});
