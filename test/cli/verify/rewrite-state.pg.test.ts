import { expect, it } from 'vitest';
import { rewriteState } from '../../../src/cli/verify.ts';
import type { LogRow } from '../../../src/domain/committed-batch.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { batch, storeRig } from '../../support/orders/store-rig.ts';
import { storedOrder } from '../../support/orders/stored-orders.ts';

it('ends between two transactions when it is interrupted, and tells what is written', async () => {
  await using rig = await storeRig();
  const ids = Array.from({ length: 1_200 }, (_, i) => `o-${String(i).padStart(4, '0')}`);
  for (let from = 0, number = 1; from < ids.length; from += 400, number += 1) {
    const some = ids.slice(from, from + 400);
    const orders = some.map((orderId) => storedOrder({ orderId }));
    const [heads, updates] = [orders.map(({ head }) => head), orders.map(({ update }) => update)];
    expect((await rig.store.applyBatch(batch(rig.epoch, number, [], { heads, updates }))).kind).toBe('committed');
  }
  const interrupted = new AbortController();
  const flushed: (readonly LogRow[])[] = [];
  const told: number[] = [];
  const publisher = {
    takeOver: () => Promise.resolve(),
    flush: async (rows: readonly LogRow[]) => {
      flushed.push(rows);
      if (flushed.length === 2) interrupted.abort();
    },
    close: () => Promise.resolve(),
  };
  const keys = ids.map((id) => `prediction:${id}`);
  const onProgress = (written: number) => told.push(written);
  const deps = { pool: rig.pool, publisher, clock: systemClock, signal: interrupted.signal, onProgress };
  expect(await rewriteState(deps, keys)).toBe(1_000);
  expect(flushed.flat().map(({ key }) => key)).toEqual(keys.slice(0, 1_000));
  expect(told).toEqual([500, 1_000]);
});
