import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { RepairWorker } from '../../../src/service/run/repair-worker.ts';
import type { AccountAccess } from '../../../src/service/sources/account-access.ts';
import { postgresAccountRepairs } from '../../../src/store/account-repairs.ts';
import { postgresAccountRegistry } from '../../../src/store/fleet/account-registry.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

it('reads the newest changes for a read, and from its time on for a backfill', async () => {
  await using rig = await storeRig();
  const registry = postgresAccountRegistry(rig.deps);
  await registry.save(unreadAccount('a'));
  const repairs = postgresAccountRepairs(rig.deps);
  const said = { accountId: 'a', askedBy: 'desk', reason: 'a fill is missing' };
  await repairs.ask({ kind: 'read', ...said });
  await repairs.ask({ kind: 'backfill', sinceMs: 7_000, ...said });
  await repairs.ask({ kind: 'backfill', ...said });
  const since: (number | string | undefined)[] = [];
  const lookAtAll: AccountAccess['lookAtAll'] = async (from) => {
    since.push(from?.atMs);
    return { complete: true, startedAtMs: 0, shown: ['o-1', 'o-2'], certain: true };
  };
  const accounts = { account: () => ({ lookAtAll }) as unknown as AccountAccess };
  const { ingest: metrics } = createMetrics();
  // A damaged state is not noticed while the order is in memory.
  const forgetOrders = (accountId: string) => since.push(`forgets ${accountId}`);
  const deps = { ...rig.deps, accounts, forgetOrders, metrics, log: silentLog };
  const worker = new RepairWorker(deps, { lookEveryMs: 10 });
  await worker.start();
  const answers = () => repairs.list('a', 10).then((all) => all.map(({ answer }) => [answer?.result, answer?.detail]));
  await eventually(async () =>
    expect(await answers()).toEqual(Array.from({ length: 3 }, () => ['done', '2 orders read'])),
  );
  await worker.drain();
  expect(since).toEqual(['forgets a', undefined, 'forgets a', 7_000, 'forgets a', 0]);
});

describe('issue: One read that hung held up the repairs of all other accounts for half an hour.', () => {
  // Requests were answered one after the other: a read that hung held up those of all other
  // accounts for half an hour.
  it('a read that hangs does not delay the reads of other accounts, and its own account has one at a time', async () => {
    await using rig = await storeRig();
    const registry = postgresAccountRegistry(rig.deps);
    const repairs = postgresAccountRepairs(rig.deps);
    for (const accountId of ['stuck', 'well']) await registry.save(unreadAccount(accountId));
    const ask = (accountId: string) =>
      repairs.ask({ kind: 'read', accountId, askedBy: 'desk', reason: 'a fill is missing' });
    await ask('stuck');
    await ask('stuck');
    await ask('well');
    let hanging = 0;
    const lookOf =
      (accountId: string): AccountAccess['lookAtAll'] =>
      async (_, signal) => {
        if (accountId === 'stuck') {
          hanging += 1;
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        }
        return { complete: true, startedAtMs: 0, shown: ['o-1'], certain: true };
      };
    const accounts = {
      account: (_: string, accountId: string) => ({ lookAtAll: lookOf(accountId) }) as unknown as AccountAccess,
    };
    const { ingest: metrics } = createMetrics();
    const deps = { ...rig.deps, accounts, forgetOrders: () => undefined, metrics, log: silentLog };
    const worker = new RepairWorker(deps, { lookEveryMs: 10 });
    await worker.start();
    await eventually(async () =>
      expect((await repairs.list('well', 10)).map(({ answer }) => answer?.result)).toEqual(['done']),
    );
    await ask('well');
    await eventually(async () => expect((await repairs.list('well', 10)).every(({ answer }) => answer)).toBe(true));
    expect(hanging).toBe(1);
    await worker.drain();
  });
});
