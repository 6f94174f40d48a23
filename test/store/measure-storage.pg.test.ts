import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { encodeWatermark } from '../../src/domain/encode-update.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { heartbeats } from '../../src/service/sources/watermarks.ts';
import { measureStorage } from '../../src/store/maintenance.ts';
import { sampleUpdate } from '../support/orders/sample-update.ts';
import { batch, head, storeRig, update } from '../support/orders/store-rig.ts';

/** The figure in a line of docs/capacity.md: `| … <name> … | <figure> |`. */
function figure(name: string): number {
  const line = readFileSync('docs/capacity.md', 'utf8')
    .split('\n')
    .find((text) => text.startsWith('|') && text.includes(name));
  return Number(/\| ([\d,]+) \|/.exec(line ?? '')?.[1]?.replaceAll(',', ''));
}

it('an update and an order take what docs/capacity.md says, within a fifth', async () => {
  await using rig = await storeRig();
  const before = await measureStorage(rig.pool);
  const payload = sampleUpdate().padEnd(1092);
  const state = JSON.stringify(JSON.parse(payload).order).padEnd(800);
  const orders = Array.from({ length: 500 }, (_, i) => `7d0c1d1e-5a6b-4c3d-9e8f-${String(i).padStart(12, '0')}`);
  for (let revision = 1; revision <= 20; revision += 1) {
    const heads = revision === 1 ? orders.map((id) => head(id, revision, { state })) : [];
    const updates = orders.map((id) => update(id, revision, { payload }));
    expect((await rig.store.applyBatch(batch(rig.epoch, revision, [], { heads, updates }))).kind).toBe('committed');
  }
  const after = await measureStorage(rig.pool);
  const anUpdate = (after.logBytes - before.logBytes) / (20 * orders.length);
  const [{ bytes } = { bytes: 0 }] = await rig.rows<{ bytes: number }>(
    "select pg_total_relation_size('orders')::int as bytes",
  );
  const anOrder = bytes / orders.length;
  for (const [name, measured] of [
    ['an update in the log', anUpdate],
    ['an order, just written', anOrder],
  ] as const) {
    expect(measured / figure(name), name).toBeGreaterThan(0.8);
    expect(measured / figure(name), name).toBeLessThan(1.2);
  }
  expect(after.databaseBytes).toBeGreaterThan(after.logBytes);
});

it('a heartbeat takes what docs/capacity.md says for each account that it names, within a fifth', async () => {
  await using rig = await storeRig();
  const before = await measureStorage(rig.pool);
  const [batches, marks, accounts] = [10, 20, 500];
  // Ids that compress as little as any: those of many platforms are shorter.
  const accountIds = Array.from({ length: accounts }, () => systemRandom.uuid());
  for (let number = 1; number <= batches; number += 1) {
    const updates = Array.from({ length: marks }, () => {
      const upToMs = new Map(accountIds.map((accountId) => [accountId, 0]));
      const [mark] = heartbeats('prediction', upToMs, systemRandom);
      if (mark === undefined) throw new Error('no heartbeat for 500 accounts');
      const { markId, stream } = mark;
      return {
        stream: 'watermarks',
        orderId: markId,
        accountId: stream,
        revision: 1,
        payload: encodeWatermark(mark),
      } as const;
    });
    expect((await rig.store.applyBatch(batch(rig.epoch, number, [], { updates }))).kind).toBe('committed');
  }
  const measured = ((await measureStorage(rig.pool)).logBytes - before.logBytes) / (batches * marks * accounts);
  expect(measured / figure('a heartbeat in the log'), String(measured)).toBeGreaterThan(0.8);
  expect(measured / figure('a heartbeat in the log'), String(measured)).toBeLessThan(1.2);
});
