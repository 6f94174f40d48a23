// What a user saw: After the database lost commits, some new updates never reached Kafka.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { LaneKeeper } from '../../../src/service/fleet/lane-keeper.ts';
import { PostgresAccountRegistry } from '../../../src/store/fleet/account-registry.ts';
import { PostgresUpdateLog } from '../../../src/store/orders/update-log.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { batch, storeRig } from '../../support/orders/store-rig.ts';
import { testLog } from '../../support/runs/test-log.ts';

const log = testLog.child({}, { level: 'silent' });

// Seed 11147: a relay saved how far Kafka was after the database had come back without its newest
// rows. The next rows had the same numbers, and were never sent.
it('takes no position of the relay beyond the end of the log', async () => {
  await using rig = await storeRig();
  await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
  await rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]));
  const updates = new PostgresUpdateLog(rig.deps);
  const [first, second] = await updates.readAfter(0, 0n, 10);
  const rival = await rig.rival();
  await rival.query('delete from order_updates where revision = 2');
  await rival.query('update lane_batches set batch = 1');
  expect(await updates.savePosition(0, rig.epoch, 'log', second?.seq ?? 0n)).toBe(false);
  expect(await updates.loadPosition(0, 'log')).toBe(0n);
  expect(await updates.savePosition(0, rig.epoch, 'log', first?.seq ?? 0n)).toBe(true);
  await rival.query('delete from order_updates');
  expect(
    await updates.savePosition(0, rig.epoch, 'log', first?.seq ?? 0n),
    'what was saved before, its rows long dropped',
  ).toBe(true);
});

// Seed 14219: an account was marked as read up to now after the database had lost the orders that
// the read had shown. Those that had ended were never asked for again.
it('keeps no mark of how far an account was read once what was read is lost', async () => {
  await using rig = await storeRig();
  await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
  const lease = new Lease(clock, 3_000);
  lease.witness.sawLane({ generation: 1, epoch: rig.epoch, batch: 1n });
  const registry = new PostgresAccountRegistry({ ...rig.deps, lease });
  const account = unreadAccount('acct-1');
  await registry.save(account);
  await (await rig.rival()).query('update lane_batches set batch = 0');
  await expect(registry.save({ ...account, readUpTo: '2026-11-21T14:31:07Z' })).rejects.toThrow('lost commits');
  expect(await registry.load()).toEqual([account]);
});

// Seed 16937: the database lost commits while the last process drained. The next ones knew of
// nothing, and gave revisions again that the state topic had.
it('begins a generation before the lane is given back by a process that drains', async () => {
  await using rig = await storeRig();
  await rig.lanes.release(0, rig.epoch);
  const lease = new Lease(clock, 3_000);
  const work = { begin: async () => {}, end: async () => {} };
  const keeper = new LaneKeeper(
    { store: rig.lanes, work, lease, clock, log, metrics: createMetrics().ingest },
    { holder: 'me', renewEveryMs: 60_000, expireAfterMs: 120_000, acquireEveryMs: 50 },
  );
  await keeper.start();
  await expect.poll(() => keeper.state).toBe('held');
  await rig.store.applyBatch(batch(lease.epoch, 1, [['a', 1]]));
  lease.witness.sawBatch(1n);
  await (await rig.rival()).query('update lane_batches set batch = 0');
  await keeper.drain(new AbortController().signal);
  expect(await rig.rows('select generation, holder from lanes')).toEqual([{ generation: 2, holder: null }]);
  expect(await rig.rows('select cause from halts where cleared_at is null')).toEqual([{ cause: 'commits_lost' }]);
});
