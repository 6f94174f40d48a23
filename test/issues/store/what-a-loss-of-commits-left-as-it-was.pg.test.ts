// What a user saw: After a failover that lost commits, old requests, marks and numbers still counted.

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { PostgresOutcomeLog } from '../../../src/store/commands/outcome-log.ts';
import { recordAction } from '../../../src/store/commands/read-audit-trail.ts';
import { type AfterRestoreOptions, afterRestore } from '../../../src/store/fleet/lane-store.ts';
import { atMs, fence, newPlace } from '../../support/commands/journal-fixtures.ts';
import { journalRig } from '../../support/commands/journal-rig.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

const options: AfterRestoreOptions = { lane: 0, least: 1, haltId: 'h-1', by: 'the test', partitionRows: 1_000 };

it('a resume of the service that was asked for before the loss is waited for no longer', async () => {
  await using rig = await journalRig();
  const asked = { reason: 'all is well', by: 'ann', requestId: 'r-1', atMs, lastsMs: 3_600_000 };
  const scopes = [{ kind: 'service' }, { kind: 'account', accountId: 'acct-1' }] as const;
  for (const scope of scopes) {
    const accountId = scope.kind === 'account' ? scope.accountId : undefined;
    const action = { kind: 'resume', scope } as const;
    await rig.journal.requestApproval({
      ...{ ...asked, approvalId: randomUUID(), action },
      ...(accountId && { accountId }),
    });
  }
  await afterRestore(rig.pool, options);
  expect(
    await rig.rows('select account_id, expires_at = to_timestamp(0) as ended from approvals order by account_id'),
  ).toEqual([
    { account_id: 'acct-1', ended: false },
    { account_id: null, ended: true },
  ]);
});

it('a mark of a step that was lost takes no step that has its number now', async () => {
  await using rig = await journalRig();
  const log = new PostgresOutcomeLog(rig.deps);
  await rig.journal.open(newPlace(), fence);
  const [now] = await log.readUnpublished(10, [0]);
  if (now === undefined) throw new Error('it is not there');
  await log.markPublished([
    { ...now, key: newPlace().commandId },
    { ...now, version: now.version + 1 },
  ]);
  expect(await log.readUnpublished(10, [0])).toEqual([now]);
  await log.markPublished([now]);
  expect(await log.readUnpublished(10, [0])).toEqual([]);
});

it('the numbers of steps go on far above those that may have been lost', async () => {
  await using rig = await journalRig();
  await afterRestore(rig.pool, options);
  await rig.journal.open(newPlace(), fence);
  const [row] = await new PostgresOutcomeLog(rig.deps).readUnpublished(10, [0]);
  expect(row?.id).toBeGreaterThan(1_000_000_000n);
});

it('the numbers of the audit trail do too: an export that goes on behind its last line misses none', async () => {
  await using rig = await journalRig();
  await afterRestore(rig.pool, options);
  await recordAction(rig.pool, 'token.create', {});
  const [line] = await rig.rows<{ id: string }>('select max(id)::text as id from audit_log');
  expect(BigInt(line?.id ?? 0)).toBeGreaterThan(1_000_000_000n);
});

it('a lane that is made while a generation begins has it too', async () => {
  await using rig = await storeRig();
  const loss = await rig.rival();
  await loss.query('begin');
  await loss.query(`select public.begin_generation(0, 7, 'h-1', 'operator', 'r', 'the test')`);
  const made = rig.lanes.acquire(4, 'new', 6_000);
  await eventually(async () => {
    expect(await rig.rows(`select from pg_stat_activity where wait_event_type = 'Lock'`)).toHaveLength(1);
  });
  await loss.query('commit');
  expect(await made).toMatchObject({ kind: 'held', generation: 7 });
});

it('a lane never falls back behind the others', async () => {
  await using rig = await storeRig();
  await rig.lanes.acquire(3, 'other', 6_000);
  await rig.rows('update lanes set generation = 5 where lane = 0');
  expect(await rig.lanes.acquire(3, 'other', 6_000)).toMatchObject({ kind: 'held', generation: 5 });
});
