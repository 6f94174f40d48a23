// What a user saw: The memory grew by up to 64 MB for each account while the platform sent unreadable rows.

import { expect, it, onTestFinished, vi } from 'vitest';
import type { Observation } from '../../../src/domain/observation.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { SilentLossWatch } from '../../../src/service/sources/audit.ts';
import { RowIntake } from '../../../src/service/sources/row-intake.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { ScriptedSink } from '../../support/orders/scripted-sink.ts';
import { accountRow, predictionRow } from '../../support/platform/platform-rows.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

it('an account that waits for its audit notes nothing of its stream', async () => {
  const rig = connectorsRig();
  const accounts = ['A', 'B', 'C', 'D'];
  rig.platform.accounts = accounts.map((accountId) => ({ accountId, isOpen: true, isSim: true }));
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  for (const accountId of accounts) await rig.until('prediction', 'live', accountId);
  let audited: string | undefined;
  rig.platform.beforeList = async ({ stream, accountId }) => {
    if (stream !== 'prediction' || audited !== undefined) return;
    audited = accountId;
    await rig.clock.sleep(600_000);
  };
  await rig.clock.advance(140_000);

  const watches = new Map<SilentLossWatch, Set<string>>();
  const delivered = SilentLossWatch.prototype.delivered;
  const spy = vi.spyOn(SilentLossWatch.prototype, 'delivered').mockImplementation(function (
    this: SilentLossWatch,
    item: Observation,
  ) {
    watches.set(this, (watches.get(this) ?? new Set()).add(item.view.accountId));
    delivered.call(this, item);
  });
  onTestFinished(() => spy.mockRestore());
  for (let i = 0; i < 400; i += 1) {
    const accountId = accounts[i % accounts.length] ?? '';
    rig.platform.emit('prediction', accountId, { ...predictionRow, accountId, orderId: `o-${i}` }, BigInt(i + 1));
  }
  expect(watches.size).toBe(4);
  const noting = [...watches].filter(([watch]) => watch.notedCount > 0).flatMap(([, seen]) => [...seen]);
  expect(noting).toEqual([audited]);
});

it('keeps a few bytes of each unreadable row of a list to know it again, however large it is', () => {
  const clock = new VirtualClock();
  const sink = new ScriptedSink();
  const deps = {
    ...{ sink, clock, metrics: createMetrics().source, log: silentLog },
    ...{ guard: () => false, onDoubt: undefined, onOrder: () => {} },
  };
  const intake = new RowIntake(deps, { stream: 'account', accountId: 'acct-1', sourceEpoch: 0 });
  const take = (ordId: string, note: string) => {
    const row = { ...accountRow, ordId, qty: 'many', note };
    intake.takeRow(row, { cause: 'snapshot', receivedMs: 0, bytes: 70_000, raw: () => JSON.stringify(row) });
  };
  const large = 'x'.repeat(60_000);
  for (let round = 0; round < 3; round += 1) for (let i = 0; i < 500; i += 1) take(`ord-${i}`, large);
  expect(sink.items).toHaveLength(500);
  take('ord-7', `${large}y`);
  expect(sink.items).toHaveLength(501);
  expect(intake.rememberedBytes).toBeLessThan(100_000);
});
