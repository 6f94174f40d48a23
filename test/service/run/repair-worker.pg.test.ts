import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { RepairWorker } from '../../../src/service/run/repair-worker.ts';
import type { AccountAccess } from '../../../src/service/sources/account-access.ts';
import { PostgresAccountRepairs } from '../../../src/store/account-repairs.ts';
import { PostgresAccountRegistry } from '../../../src/store/fleet/account-registry.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

it('reads the newest changes for a read, and from its time on for a backfill', async () => {
  await using rig = await storeRig();
  const registry = new PostgresAccountRegistry(rig.deps);
  await registry.save(unreadAccount('a'));
  const repairs = new PostgresAccountRepairs(rig.deps);
  const said = { accountId: 'a', askedBy: 'desk', reason: 'a fill is missing' };
  await repairs.ask({ kind: 'read', ...said });
  await repairs.ask({ kind: 'backfill', sinceMs: 7_000, ...said });
  await repairs.ask({ kind: 'backfill', ...said });
  const since: (number | undefined)[] = [];
  const lookAtAll: AccountAccess['lookAtAll'] = async (from) => {
    since.push(from?.atMs);
    return { complete: true, startedAtMs: 0, shown: ['o-1', 'o-2'], certain: true };
  };
  const accounts = { account: () => ({ lookAtAll }) as unknown as AccountAccess };
  const { ingest: metrics } = createMetrics();
  const worker = new RepairWorker({ ...rig.deps, accounts, metrics, log: silentLog }, { lookEveryMs: 10 });
  await worker.start();
  const answers = () => repairs.list('a', 10).then((all) => all.map(({ answer }) => [answer?.outcome, answer?.detail]));
  await eventually(async () =>
    expect(await answers()).toEqual(Array.from({ length: 3 }, () => ['done', '2 orders read'])),
  );
  await worker.drain();
  expect(since).toEqual([undefined, 7_000, 0]);
});
