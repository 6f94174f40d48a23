import { expect, it } from 'vitest';
import { recomputeVerdict } from '../../../src/domain/recompute-verdict.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import { endJobs } from '../../../src/store/dead-letters/dead-letter-jobs.ts';
import { postgresDeadLetters } from '../../../src/store/dead-letters/postgres-dead-letters.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { readMigrations } from '../../../src/store/migrations.ts';
import { atMs, newPlace } from '../../support/commands/journal-fixtures.ts';
import { all, readRig } from '../../support/orders/read-rig.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { emptyDatabase } from '../../support/servers/database.ts';
import { onServer } from '../../support/servers/on-server.ts';

/** A database of the migration `0001` with the given rows, migrated by all later ones. */
async function migratedWith(rows: string) {
  const database = await emptyDatabase();
  const migrations = (await readMigrations()).slice(0, 2);
  const options = { url: database.url, log: testLog, clock: systemClock, partitionRows: 60 };
  await migrate({ ...options, shards: 4, migrations });
  await onServer(database.url, (client) => client.query(rows));
  expect((await migrate(options)).applied).not.toEqual([]);
  return readRig({ database });
}

it('a discard of many rows that was under way is carried out, and its job keeps its count', async () => {
  const [open, cancelled, retry] = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
  await using rig = await migratedWith(
    `insert into quarantine (lane, batch, stream, account_id, order_id, reason, detail, raw, observed_at)
       select 0, 1, 'account', 'A', 'o-' || n, 'poison', '', '', now() from generate_series(1, 5) n;
     update quarantine set dealt_at = now() where id in (1, 4);
     insert into quarantine_jobs (job_id, action, filter, reason, asked_by, request_id, ended_at, cancelled_by) values
       ('${open}', 'discard', '{}', 'checked', 'desk', 'r-1', null, null),
       ('${cancelled}', 'discard', '{}', 'checked', 'desk', 'r-2', now(), 'desk'),
       ('${retry}', 'retry', '{}', 'read it', 'desk', 'r-3', null, null);
     insert into repair_requests (kind, stream, account_id, quarantine_id, job_id, answered_at, outcome, detail) values
       ('discard', 'account', 'A', 1, '${open}', now(), 'done', 'discarded'),
       ('discard', 'account', 'A', 2, '${open}', null, null, null),
       ('discard', 'account', 'A', 3, '${open}', null, null, null),
       ('discard', 'account', 'A', 4, '${cancelled}', now(), 'done', 'discarded'),
       ('discard', 'account', 'A', 5, '${cancelled}', now(), 'withdrawn', 'the job was cancelled'),
       ('retry', 'account', 'A', 5, '${retry}', null, null, null)`,
  );
  expect(await rig.rows('select id from dead_letters where dealt_at is null')).toEqual([{ id: '5' }]);
  expect(await endJobs(rig.pool)).toEqual([{ jobId: open, action: 'discard', done: 3, failed: 0, withdrawn: 0 }]);
  const jobs = await postgresDeadLetters({ ...rig.deps, readPool: rig.pool }).listJobs(all, 9);
  expect(jobs.toSorted((a, b) => a.jobId.localeCompare(b.jobId))).toMatchObject([
    { jobId: open, total: 3, done: 3, endedAt: expect.any(Date) },
    { jobId: cancelled, total: 1, done: 1, withdrawn: 0, cancelledBy: 'desk' },
    { jobId: retry, total: 1, done: 0 },
  ]);
});

it('the fence of a shard goes over into its row: a process of before writes no command, the next one does', async () => {
  await using rig = await migratedWith(
    'insert into command_fence values (0, 7), (1, 9); update shards set epoch = 8 where shard < 3',
  );
  const rows = await rig.rows<{ epoch: string }>('select epoch from shards order by shard');
  const epochs = rows.map(({ epoch }) => Number(epoch));
  for (const [shard, before] of [8, 9, 8].entries()) expect(epochs[shard], `${shard}`).toBeGreaterThan(before);
  const journal = createPostgresJournal(rig.deps);
  const fence = { shard: 1, epoch: BigInt(epochs[1] ?? 0) };
  expect(await journal.open(newPlace(), { ...fence, epoch: 9n })).toEqual({ kind: 'fenced' });
  expect(await journal.takeOver(fence, atMs, 0)).toEqual([]);
  expect(await journal.open(newPlace(), fence)).toMatchObject({ kind: 'opened' });
});

it('an approval that waits, a watermark and the ends of its topic have the words of now', async () => {
  await using rig = await migratedWith(
    `insert into approvals (approval_id, action, account_id, requested_by, reason, request_id, requested_at, expires_at) values
       ('00000000-0000-4000-8000-000000000001', '{"kind":"settle","commandId":"c-1","outcome":"applied"}', 'A', 'desk', 'by phone', 'r-1', now(), now() + interval '1 hour');
     insert into published_topics (kind, name, topic_id, since) values ('continuity', 'tidemark.continuity.v1', '', now());
     insert into order_updates (seq, lane, batch, stream, order_id, account_id, revision, payload) values
       (1, 0, 1, 'continuity', 'm-1', 'A', 1, '{"schema":"tidemark.continuity.v1","event":"live"}')`,
  );
  expect(await rig.rows('select action, approved_at from approvals')).toEqual([
    { action: { kind: 'resolve', commandId: 'c-1', result: 'applied' }, approved_at: null },
  ]);
  expect(await rig.rows('select stream, payload::json as payload from order_updates')).toEqual([
    { stream: 'watermarks', payload: { schema: 'tidemark.watermarks.v1', event: 'live' } },
  ]);
  expect(await rig.rows('select kind from published_topics')).toEqual([]);
});

it('a command that a person resolved has their word as its result, and computes to the same verdict', async () => {
  const { commandId: id, attemptId, request, principal, idempotencyKey, requestHash } = newPlace();
  const word = '{"outcome":"not_sent","by":"desk","reason":"by phone","requestId":"r-1","secondPrincipal":"lead"}';
  await using rig = await migratedWith(
    `set session_replication_role = replica;
     insert into commands (command_id, shard, principal, idempotency_key, request_hash, kind, stream, account_id, symbol, side, request, state, version, deadline_at,
       created_at, updated_at, settled_at) values
       ('${id}', 0, '${principal}', '${idempotencyKey}', '${requestHash}', 'place', 'account', 'acct-1', 'AAPL', 'buy', '${JSON.stringify(request)}', 'not_sent', 3, now(),
       now(), now(), now());
     insert into attempts (attempt_id, command_id, number, epoch, prepared_at, state, sending_at, answered_at) values
       ('${attemptId}', '${id}', 1, 1, now(), 'unknown', now(), now());
     insert into evidence (command_id, number, kind, code, detail, at) values
       ('${id}', 1, 'answer', 'unknown', '{"code":"REQUEST_OUTCOME_UNKNOWN","outcome":"kept"}', now()),
       ('${id}', 2, 'person', 'settled', '${word}', now())`,
  );
  const found = await rig.reads.findCommand(all, id);
  expect(found?.evidence.map(({ kind, detail }) => [kind, Object.entries(detail)])).toEqual([
    ['answer', Object.entries({ code: 'REQUEST_OUTCOME_UNKNOWN', outcome: 'kept' })],
    ['person', Object.entries(JSON.parse(word.replace('outcome', 'result')))],
  ]);
  const { command, evidence } = found ?? expect.fail('it is not there');
  expect(recomputeVerdict(command, evidence, [])).toEqual({ state: 'not_sent', because: 'person', agrees: true });
});
