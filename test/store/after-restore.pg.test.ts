import { describe, expect, it } from 'vitest';
import { createPostgresJournal } from '../../src/store/commands/postgres-journal.ts';
import { type AfterRestoreOptions, afterRestore, PostgresLaneStore } from '../../src/store/fleet/lane-store.ts';
import { PostgresUpdateLog } from '../../src/store/orders/update-log.ts';
import { atMs, fence, newPlace } from '../support/commands/journal-fixtures.ts';
import { takingJournal } from '../support/commands/journal-rig.ts';
import { batch, storeRig } from '../support/orders/store-rig.ts';

const options: AfterRestoreOptions = { lane: 0, least: 1, haltId: 'h-1', by: 'the test', partitionRows: 1_000 };

describe('after a restore', () => {
  it('whoever takes the lane begins under a higher generation, each time', async () => {
    await using rig = await storeRig();
    expect((await afterRestore(rig.pool, options)).generation).toBe(2);
    expect(await rig.lanes.acquire(0, 'next', 6_000)).toMatchObject({ kind: 'held', generation: 2 });
    expect((await afterRestore(rig.pool, { ...options, least: 7 })).generation).toBe(7);
    expect(await rig.lanes.acquire(0, 'after', 6_000)).toMatchObject({ kind: 'held', generation: 7 });
  });

  it('every lane has it, and one that is made later has it too', async () => {
    await using rig = await storeRig();
    await rig.lanes.acquire(3, 'other', 6_000);
    await afterRestore(rig.pool, options);
    expect(await rig.lanes.acquire(3, 'next', 6_000)).toMatchObject({ generation: 2 });
    expect(await rig.lanes.acquire(4, 'new', 6_000)).toMatchObject({ generation: 2 });
  });

  it('a database that is empty has it as well', async () => {
    await using rig = await storeRig();
    await rig.pool.query('delete from lanes');
    expect((await afterRestore(rig.pool, { ...options, least: 5 })).generation).toBe(5);
    expect(await rig.lanes.acquire(0, 'first', 6_000)).toMatchObject({ kind: 'held', generation: 5 });
  });

  it('a holder that runs is fenced', async () => {
    await using rig = await storeRig();
    expect((await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]))).kind).toBe('committed');
    await afterRestore(rig.pool, options);
    expect(await rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]))).toEqual({ kind: 'lane_lost' });
    expect(await rig.lanes.renew(0, rig.epoch)).toBe('refused');
  });

  it('no number of the log is given twice, a partition is ready, and the state topic gets nothing that the copy holds', async () => {
    await using rig = await storeRig();
    const log = new PostgresUpdateLog(rig.deps);
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    await afterRestore(rig.pool, options);
    const hold = await rig.lanes.acquire(0, 'next', 6_000);
    const epoch = hold.kind === 'held' ? hold.epoch : 0n;
    const result = await rig.store.applyBatch(batch(epoch, 2, [['a', 2]]));
    expect(result.kind === 'committed' && result.lastSeq).toBeGreaterThan(1_000_000_000n);
    const position = await log.loadPosition(0, 'state');
    expect((await log.readNewestAfter(0, position, 10, 1e6)).rows.map(({ payload }) => payload)).toEqual([
      '{"order":"a/2"}',
    ]);
    expect(await log.loadPosition(0, 'log'), 'what was never acknowledged is published still').toBe(0n);
  });

  it('an attempt that was only prepared in the copy ends unknown, never as not sent', async () => {
    await using rig = await storeRig();
    const journal = takingJournal(rig.pool, createPostgresJournal(rig.deps));
    await journal.takeOver(fence, atMs, 0);
    const opened = await journal.open(newPlace(), fence);
    expect((await afterRestore(rig.pool, options)).attempts).toBe(1);
    const [taken] = await journal.takeOver({ shard: 0, epoch: 9n }, atMs, 0);
    expect(taken).toMatchObject({ state: 'unknown' });
    expect(opened).toMatchObject({ kind: 'opened', command: { commandId: taken?.commandId } });
  });

  it('placing is halted until a person ends it, once', async () => {
    await using rig = await storeRig();
    await afterRestore(rig.pool, options);
    await afterRestore(rig.pool, { ...options, haltId: 'h-2' });
    expect(await rig.rows('select halt_id, account_id, cause, cleared_at from halts')).toEqual([
      { halt_id: 'h-1', account_id: null, cause: 'operator', cleared_at: null },
    ]);
  });
});

describe('the setting of the generation', () => {
  it('is that of a database without lanes, and stays in it', async () => {
    await using rig = await storeRig();
    await rig.pool.query('delete from lanes');
    const later = new PostgresLaneStore(rig.deps, { firstGeneration: 4 });
    expect(await later.acquire(0, 'first', 6_000)).toMatchObject({ kind: 'held', generation: 4 });
    expect(await rig.lanes.acquire(1, 'second', 6_000)).toMatchObject({ kind: 'held', generation: 4 });
    expect(await rig.lanes.acquire(0, 'first', 6_000)).toMatchObject({ kind: 'held', generation: 4 });
  });
});

describe('issue: Consumers dropped updates while one process of two had a higher TIDEMARK_GENERATION.', () => {
  it('a lane that is made or taken has the generation of the others, since its accounts may move to them', async () => {
    await using rig = await storeRig();
    const raised = new PostgresLaneStore(rig.deps, { firstGeneration: 4 });
    expect(await raised.acquire(1, 'second', 6_000)).toMatchObject({ kind: 'held', generation: 1 });
    expect(await raised.acquire(1, 'second', 6_000)).toMatchObject({ kind: 'held', generation: 1 });
  });
});
