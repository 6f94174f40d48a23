// What a user saw: An update took 3 to 4 kB of write-ahead log, twice and more what it says.
import { expect, it } from 'vitest';
import { sampleUpdate } from '../../support/orders/sample-update.ts';
import { batch, head, storeRig, update } from '../../support/orders/store-rig.ts';

const orders = Array.from({ length: 500 }, (_, i) => `7d0c1d1e-5a6b-4c3d-9e8f-${String(i).padStart(12, '0')}`);

it('an update takes less than 1.6 times its own bytes of write-ahead log', async () => {
  await using rig = await storeRig();
  const payloads = [1, 2, 3, 4, 5, 6].map((revision) => sampleUpdate({ revision }).padEnd(1_300));
  const write = async (revision: number) => {
    const payload = payloads[revision - 1] ?? '';
    const state = JSON.stringify(JSON.parse(payload).order);
    const heads = orders.map((id) => head(id, revision, { state }));
    const updates = orders.map((id) => update(id, revision, { payload }));
    expect((await rig.store.applyBatch(batch(rig.epoch, revision, [], { heads, updates }))).kind).toBe('committed');
  };
  await rig.rows('create extension pg_walinspect');
  await write(1);
  await write(2);
  await using _kept = await keptLog(rig);
  // The first change of a page after a checkpoint logs the whole page, whenever one begins.
  await rig.rows('checkpoint');
  const before = await logPosition(rig);
  for (const revision of [3, 4, 5, 6]) await write(revision);
  const written = await bytesWithoutPages(rig, before);
  expect(written).toBeGreaterThan(1_300 * 4 * orders.length);
  expect(written).toBeLessThan(1.6 * 1_300 * 4 * orders.length);
});

type Rig = Awaited<ReturnType<typeof storeRig>>;

/**
 * The server keeps its log from here on. A checkpoint removes what no slot needs, and each drop of
 * a database makes one.
 */
async function keptLog({ rows }: Rig): Promise<AsyncDisposable> {
  await rows("select pg_create_physical_replication_slot('measured_' || current_database(), true)");
  return {
    async [Symbol.asyncDispose]() {
      await rows("select pg_drop_replication_slot('measured_' || current_database())");
    },
  };
}

const logPosition = async ({ rows }: Rig) =>
  (await rows<{ lsn: string }>('select pg_current_wal_insert_lsn() as lsn'))[0]?.lsn;

/** Of this database alone: other tests write to the same server. */
async function bytesWithoutPages({ rows }: Rig, from: string | undefined): Promise<number> {
  const [row] = await rows<{ bytes: string }>(
    `select sum(record_length - fpi_length) as bytes
     from pg_get_wal_records_info($1, pg_current_wal_flush_lsn())
     where block_ref like '%rel %/' || (select oid from pg_database where datname = current_database()) || '/%'`,
    [from],
  );
  return Number(row?.bytes);
}
