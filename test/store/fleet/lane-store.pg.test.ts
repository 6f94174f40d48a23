import { describe, expect, it } from 'vitest';
import { batch, storeRig } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

describe('the lane', () => {
  it('is held by the first who asks, from epoch 1 and batch 0 on, and is busy for others', async () => {
    await using rig = await storeRig();
    expect(await rig.lanes.acquire(1, 'one', 6_000)).toEqual({
      ...{ kind: 'held', epoch: 1n, batch: 0n, generation: 1 },
      takeover: { cause: 'first', from: undefined, idleMs: 0 },
    });
    const answer = await rig.lanes.acquire(1, 'two', 6_000);
    expect(answer).toMatchObject({ kind: 'busy', holder: 'one', epoch: 1n });
    expect(answer.kind === 'busy' && answer.ageMs).toBeGreaterThanOrEqual(0);
  });

  it('goes to exactly one of many that ask at once', async () => {
    await using rig = await storeRig();
    for (const lane of [1, 2, 3]) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) => rig.lanes.acquire(lane, `holder-${i}`, 6_000)),
      );
      expect(answers.filter((answer) => answer.kind === 'held')).toHaveLength(1);
    }
    await rig.pool.query("update lanes set renewed_at = now() - interval '1 minute'");
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => rig.lanes.acquire(1, `taker-${i}`, 6_000)));
    const held = answers.filter((answer) => answer.kind === 'held');
    expect(held).toMatchObject([{ kind: 'held', batch: 0n, generation: 1, takeover: { cause: 'expired' } }]);
    expect(held[0]?.epoch).toBeGreaterThan(1n);
  });

  it('is taken once nobody renewed it for long enough, with a higher epoch and the batch number that was reached', async () => {
    await using rig = await storeRig();
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    await rig.pool.query("update lanes set renewed_at = now() - interval '5 seconds'");
    expect((await rig.lanes.acquire(0, 'second', 6_000)).kind).toBe('busy');
    const taken = await rig.lanes.acquire(0, 'second', 4_000);
    expect(taken).toMatchObject({ kind: 'held', batch: 1n, generation: 1 });
    expect(taken.epoch).toBeGreaterThan(rig.epoch);
    expect(taken).toMatchObject({ takeover: { cause: 'expired', from: 'first' } });
    expect(taken.kind === 'held' && taken.takeover.idleMs).toBeGreaterThanOrEqual(5_000);
    expect(await rig.lanes.renew(0, rig.epoch)).toBe('refused');
    expect(await rig.lanes.reclaim(0, rig.epoch)).toBeUndefined();
    expect(await rig.lanes.renew(0, taken.epoch)).toBe('renewed');
  });

  it('is renewed by the holder, and by a batch where the holder is late', async () => {
    await using rig = await storeRig();
    const age = () => rig.pool.query("update lanes set renewed_at = now() - interval '1 hour'");
    const fresh = async () =>
      (await rig.rows("select from lanes where renewed_at > now() - interval '1 minute'")).length === 1;
    await age();
    expect(await rig.lanes.renew(0, rig.epoch)).toBe('renewed');
    expect(await fresh()).toBe(true);
    await age();
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    expect(await fresh()).toBe(true);
  });

  it('is taken when its row was renewed in the future: the database clock was set back', async () => {
    await using rig = await storeRig();
    await rig.pool.query("update lanes set renewed_at = now() + interval '1 hour'");
    expect(await rig.lanes.acquire(0, 'second', 6_000)).toMatchObject({
      kind: 'held',
      takeover: { cause: 'expired', idleMs: 0 },
    });
  });

  it('goes back at once to the run that holds it, when the answer to its own taking was lost', async () => {
    await using rig = await storeRig();
    const taken = await rig.lanes.acquire(0, 'first', 6_000);
    expect(taken).toMatchObject({ kind: 'held', batch: 0n, generation: 1, takeover: { cause: 'own' } });
    expect(taken.epoch).toBeGreaterThan(rig.epoch);
  });

  it('is free at once after a release, which fences what the releaser left behind', async () => {
    await using rig = await storeRig();
    await rig.lanes.release(0, rig.epoch);
    expect(await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]))).toEqual({ kind: 'lane_lost' });
    await rig.pool.query("update lanes set renewed_at = renewed_at - interval '3 seconds'");
    const answer = await rig.lanes.acquire(0, 'second', 6_000);
    expect(answer.kind === 'held' && answer.epoch > rig.epoch).toBe(true);
    expect(answer).toMatchObject({ takeover: { cause: 'released', from: undefined } });
    expect(answer.kind === 'held' && answer.takeover.idleMs, 'since the release').toBeGreaterThanOrEqual(3_000);
    await rig.lanes.release(0, rig.epoch);
    expect((await rig.lanes.acquire(0, 'third', 6_000)).kind).toBe('busy');
  });

  it('is not waited for by a standby that looks while a batch holds the row', async () => {
    await using rig = await storeRig();
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    const rival = await rig.rival();
    await rival.query('begin');
    await rival.query("update orders set symbol = 'HELD' where order_id = 'a'");
    const held = rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]));
    await rig.laneBlocked();
    expect((await rig.lanes.acquire(0, 'second', 60_000)).kind).toBe('busy');
    await rival.query('commit');
    expect((await held).kind).toBe('committed');
  });

  it('is told as given back when its holder released it while the taking waited for the row', async () => {
    await using rig = await storeRig();
    await rig.pool.query("update lanes set renewed_at = now() - interval '1 minute'");
    const rival = await rig.rival();
    await rival.query('begin');
    await rival.query('update lanes set holder = null, renewed_at = clock_timestamp()');
    const taking = rig.lanes.acquire(0, 'second', 6_000);
    await eventually(async () => {
      const { rows } = await rival.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      expect(rows).toHaveLength(1);
    });
    await rival.query('commit');
    const taken = await taking;
    expect(taken).toMatchObject({ kind: 'held', takeover: { cause: 'released', from: undefined } });
    expect(taken.epoch).toBeGreaterThan(rig.epoch);
    expect(taken.kind === 'held' && taken.takeover.idleMs, 'not the minute of before').toBeLessThan(60_000);
  });

  it('is left alone by a taking that waited for the row while its holder renewed it', async () => {
    await using rig = await storeRig();
    await rig.pool.query("update lanes set renewed_at = now() - interval '1 minute'");
    const rival = await rig.rival();
    await rival.query('begin');
    await rival.query('update lanes set renewed_at = clock_timestamp()');
    const taking = rig.lanes.acquire(0, 'second', 30_000);
    await eventually(async () => {
      const { rows } = await rival.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      expect(rows).toHaveLength(1);
    });
    await rival.query('commit');
    expect(await taking).toMatchObject({ kind: 'busy', holder: 'first', epoch: rig.epoch });
  });

  it('waits with a verdict until the holder that may still commit is gone, or says that it does not know', async () => {
    await using rig = await storeRig();
    const rival = await rig.rival();
    await rival.query('begin');
    await rival.query('select from lanes for update');
    // Its own wait for the row ends after 2 s: it rejects, and a rejected call is no verdict.
    await expect(rig.lanes.reclaim(0, rig.epoch)).rejects.toMatchObject({ code: '55P03' });
    await rival.query('rollback');
    await eventually(async () =>
      expect(await rig.lanes.reclaim(0, rig.epoch)).toEqual({ epoch: rig.epoch + 1n, batch: 0n, generation: 1 }),
    );
  });
});
