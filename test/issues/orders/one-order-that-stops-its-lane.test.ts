// What a user saw: One order with an unexpected database error kept all others of its lane from being stored.

import { describe, expect, it } from 'vitest';
import { HealthRegistry } from '../../../src/observability/health.ts';
import { addHealthChecks, type HealthParts } from '../../../src/service/run/add-health-checks.ts';
import { type ApplyResult, type Batch, RefusedReadError } from '../../../src/store/orders/order-store.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

type Rig = Awaited<ReturnType<typeof ingestRig>>;

/**
 * Batches for which `refuses` gives a code are rolled back with it, as
 * by an error that the code does not know.
 */
function refusing(rig: Rig, refuses: (batch: Batch) => string | undefined): void {
  const apply = rig.database.applyBatch.bind(rig.database);
  rig.database.applyBatch = async (batch: Batch): Promise<ApplyResult> => {
    const code = refuses(batch);
    return code === undefined ? apply(batch) : { kind: 'failed', code, message: 'invalid page' };
  };
}

const touches = (order: number) => (batch: Batch) => batch.heads.some(({ orderId }) => orderId === `ord-${order}`);

async function offered(rig: Rig, orders: readonly number[]): Promise<void> {
  for (const order of orders)
    rig.offer(observe(orderAt(order, 0), { observedAtMs: rig.clock.nowMs(), receivedMs: rig.clock.monotonicMs() }));
  await rig.clock.advance(1);
}

const committed = ({ database }: Rig) =>
  [...database.heads.keys()].map((key) => Number(key.split('-')[1])).sort((a, b) => a - b);

describe('an error that nobody foresaw', () => {
  it('on one order puts that order into quarantine, once others are seen to pass', async () => {
    const rig = await ingestRig(1);
    rig.ingest.begin(rig.hold);
    refusing(rig, (batch) => (touches(3)(batch) ? 'XX001' : undefined));
    await offered(rig, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    await rig.clock.advance(10_000);
    expect(committed(rig)).toEqual([1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(rig.database.quarantine).toMatchObject([{ orderId: 'ord-3', reason: 'poison' }]);
    expect(rig.ingest.depth).toBe(0);
  });

  it('on the only order there is waits for another one to show that it is not the database', async () => {
    const rig = await ingestRig(2);
    rig.ingest.begin(rig.hold);
    refusing(rig, (batch) => (touches(3)(batch) ? 'XX001' : undefined));
    await offered(rig, [3]);
    await rig.clock.advance(60_000);
    expect(rig.database.quarantine).toEqual([]);
    await offered(rig, [4]);
    await rig.clock.advance(10_000);
    expect(committed(rig)).toEqual([4]);
    expect(rig.database.quarantine).toMatchObject([{ orderId: 'ord-3' }]);
  });

  it('on every order puts none of them into quarantine, and all pass when it is over', async () => {
    const rig = await ingestRig(3);
    rig.ingest.begin(rig.hold);
    let readOnly = true;
    refusing(rig, (batch) => (readOnly && batch.heads.length > 0 ? '25006' : undefined));
    await offered(
      rig,
      Array.from({ length: 30 }, (_, i) => i),
    );
    await rig.clock.advance(120_000);
    expect(rig.database.quarantine).toEqual([]);
    readOnly = false;
    await rig.clock.advance(5_000);
    expect(committed(rig)).toHaveLength(30);
    expect(rig.database.quarantine).toEqual([]);
  });

  it('that turns into one on every order puts none of the others into quarantine', async () => {
    const rig = await ingestRig(4);
    rig.ingest.begin(rig.hold);
    let readOnly = false;
    refusing(rig, (batch) => {
      if (readOnly && batch.heads.length > 0) return '25006';
      if (!touches(3)(batch)) return undefined;
      // From the first time that it is alone.
      readOnly ||= batch.heads.length === 1;
      return 'XX001';
    });
    await offered(rig, [1, 2, 3, 4, 5, 6]);
    await rig.clock.advance(60_000);
    expect(rig.database.quarantine.map(({ orderId }) => orderId)).toEqual(['ord-3']);
    readOnly = false;
    await rig.clock.advance(5_000);
    expect(committed(rig)).toEqual([1, 2, 4, 5, 6]);
  });

  it('at the read of one head does the same', async () => {
    const rig = await ingestRig(5);
    const read = rig.database.readHeads.bind(rig.database);
    rig.database.readHeads = async (keys) => {
      if (keys.some((key) => key.endsWith('ord-3'))) throw new RefusedReadError('XX001', 'invalid page');
      return read(keys);
    };
    rig.ingest.begin(rig.hold);
    await offered(rig, [1, 2, 3, 4, 5, 6]);
    await rig.clock.advance(10_000);
    expect(committed(rig)).toEqual([1, 2, 4, 5, 6]);
    expect(rig.database.quarantine).toMatchObject([{ orderId: 'ord-3' }]);
  });

  it('lets no barrier pass before what was offered ahead of it is settled', async () => {
    const rig = await ingestRig(6);
    rig.ingest.begin(rig.hold);
    refusing(rig, (batch) => (touches(3)(batch) ? 'XX001' : undefined));
    await offered(rig, [3]);
    let passed = false;
    void rig.ingest.committed().then(() => {
      passed = true;
    });
    await rig.clock.advance(30_000);
    expect(passed).toBe(false);
    await offered(rig, [4]);
    await rig.clock.advance(10_000);
    expect(passed).toBe(true);
    expect(rig.outcomes).toEqual(['applied', 'quarantined']);
  });
});

it('a lane that commits nothing says how much waits, and since when', async () => {
  const rig = await ingestRig(7);
  rig.ingest.begin(rig.hold);
  const value = async (gauge: { get(): Promise<{ values: { value: number }[] }> }) =>
    (await gauge.get()).values[0]?.value;
  expect(await value(rig.metrics.ingest.oldestUncommitted)).toBe(0);
  rig.database.faults = { ...rig.database.faults, retry: 1 };
  const atMs = rig.clock.nowMs();
  await offered(rig, [1, 2, 3]);
  await rig.clock.advance(40_000);
  expect(rig.ingest.depth).toBe(3);
  expect(rig.ingest.oldestUncommittedMs).toBe(atMs);
  expect(await value(rig.metrics.ingest.queueDepth)).toBe(3);
  expect(await value(rig.metrics.ingest.oldestUncommitted)).toBe(atMs / 1000);
  rig.database.faults = { ...rig.database.faults, retry: 0 };
  await rig.clock.advance(5_000);
  expect(rig.ingest.oldestUncommittedMs).toBeUndefined();
  expect(await value(rig.metrics.ingest.oldestUncommitted)).toBe(0);
});

it('what is in flight counts as waiting, since it came', async () => {
  const rig = await ingestRig(9);
  rig.ingest.begin(rig.hold);
  const apply = rig.database.applyBatch.bind(rig.database);
  rig.database.applyBatch = async (batch) => {
    await rig.clock.sleep(20_000);
    return apply(batch);
  };
  const atMs = rig.clock.nowMs();
  await offered(rig, [1, 2]);
  await rig.clock.advance(5_000);
  await offered(rig, [3]);
  expect(rig.ingest.depth).toBe(3);
  expect(rig.ingest.oldestUncommittedMs).toBe(atMs);
  await rig.clock.advance(60_000);
  expect(rig.ingest.depth).toBe(0);
  expect(rig.ingest.oldestUncommittedMs).toBeUndefined();
});

it('what waits for the heads of its orders to be read counts as waiting, since it came', async () => {
  const rig = await ingestRig(10);
  rig.ingest.begin(rig.hold);
  const { readHeads } = rig.database;
  rig.database.readHeads = async () => {
    await rig.clock.sleep(1_000);
    throw new Error('the database cannot be reached');
  };
  const atMs = rig.clock.nowMs();
  await offered(rig, [1, 2, 3]);
  await rig.clock.advance(40_000);
  expect(rig.ingest.depth).toBe(3);
  expect(rig.ingest.oldestUncommittedMs).toBe(atMs);
  expect((await rig.metrics.ingest.queueDepth.get()).values[0]?.value).toBe(3);
  rig.database.readHeads = readHeads;
  await rig.clock.advance(5_000);
  expect(rig.ingest.depth).toBe(0);
  expect(committed(rig)).toEqual([1, 2, 3]);
});

it('a lane that commits nothing makes its process degraded, by the age of the oldest that waits', async () => {
  const rig = await ingestRig(8);
  rig.ingest.begin(rig.hold);
  const health = new HealthRegistry({ clock: rig.clock }, { checkDeadlineMs: 2_000, maxAgeMs: 0 });
  // The other checks fail for want of their parts.
  addHealthChecks(health, {
    clock: rig.clock,
    ingest: rig.ingest,
    topics: { addTo: () => undefined },
  } as unknown as HealthParts);
  const readiness = async () => (await health.report()).checks.find(({ name }) => name === 'ingest');
  rig.database.faults = { ...rig.database.faults, retry: 1 };
  await offered(rig, [1, 2, 3]);
  await rig.clock.advance(9_000);
  expect(await readiness()).toMatchObject({ effect: 'degraded', ok: true, detail: '3 observations on the way' });
  await rig.clock.advance(6_000);
  expect(await readiness()).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/^the oldest of 3 observations has waited 15 s to be stored: /),
  });
  rig.database.faults = { ...rig.database.faults, retry: 0 };
  await rig.clock.advance(5_000);
  expect(await readiness()).toMatchObject({ ok: true, detail: '0 observations on the way' });
});
