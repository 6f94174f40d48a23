import type { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { Housekeeping } from '../../../src/service/run/housekeeping.ts';
import { RepairWorker, type RepairWorkerOptions } from '../../../src/service/run/repair-worker.ts';
import type { AccountAccess, AccountLook } from '../../../src/service/sources/account-access.ts';
import {
  type DeadLetterAction,
  type DeadLetterFilter,
  mostOpenJobs,
} from '../../../src/store/dead-letters/dead-letter-access.ts';
import { postgresDeadLetters } from '../../../src/store/dead-letters/postgres-dead-letters.ts';
import { maintainDeadLetters } from '../../../src/store/maintenance.ts';
import type { AccountScope } from '../../../src/store/orders/order-reads.ts';
import type { DeadLetterRow } from '../../../src/store/orders/order-store.ts';
import { answerRepairs, openRepairs } from '../../../src/store/repair-requests.ts';
import { askRepair, listDeadLetters, markDealt, readAnswer } from '../../support/orders/dead-letter-rows.ts';
import { batch, deadLetter, storeRig } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { testLog } from '../../support/runs/test-log.ts';

const everything: AccountScope = { kind: 'all' };
const word = { by: 'desk', reason: 'the build reads it now', requestId: 'r-1' };
const lookShows = (...shown: string[]): AccountLook => ({ complete: true, startedAtMs: 0, certain: true, shown });
const lost: AccountLook = {
  complete: false,
  error: { code: 'NO_ANSWER', message: 'given up', retryable: true, sent: 'maybe' },
};

/**
 * A database with dead letters, the dead letters as REST has it, and processes that may hold
 * its lane.
 */
async function rigWith(rows: readonly Partial<DeadLetterRow>[]) {
  const rig = await storeRig();
  const put = (number: number, some: readonly Partial<DeadLetterRow>[]) =>
    rig.store.applyBatch(batch(rig.epoch, number, [], { deadLetters: some.map((row) => deadLetter(row)) }));
  expect((await put(1, rows)).kind).toBe('committed');
  const deadLetters = postgresDeadLetters({ ...rig.deps, readPool: rig.pool });
  const open = async (action: DeadLetterAction, filter: DeadLetterFilter = {}, scope = everything) => {
    const jobId = systemRandom.uuid();
    expect(await deadLetters.openJob(scope, { jobId, action, filter, ...word })).toBe(true);
    return jobId;
  };
  const left = async () => (await deadLetters.list(everything, {}, undefined, 100)).items.map(({ id }) => Number(id));
  const progress = async (jobId: string) => {
    const job = await deadLetters.findJob(everything, jobId);
    return (
      job && {
        total: job.total,
        done: job.done,
        failed: job.failed,
        withdrawn: job.withdrawn,
        over: job.endedAt !== undefined,
      }
    );
  };
  /**
   * One process: the looks that it made, and the accounts that it
   * follows while it holds the lane.
   */
  const holder = (
    look: (orderId: string, signal: AbortSignal) => Promise<AccountLook>,
    {
      follows = ['A'],
      pool = rig.pool,
      ...pace
    }: { readonly follows?: readonly string[]; readonly pool?: Pool } & Partial<RepairWorkerOptions> = {},
  ) => {
    const state = { holds: true, looks: [] as string[] };
    const account = {
      lookAt: (orderId: string, signal: AbortSignal) => {
        state.looks.push(orderId);
        return look(orderId, signal);
      },
    } as AccountAccess;
    const accounts = {
      account: (_stream: string, id: string) => (state.holds && follows.includes(id) ? account : undefined),
    };
    const metrics = createMetrics().ingest;
    const deps = { pool, accounts, forgetOrders: () => undefined, clock: systemClock, log: testLog, metrics };
    const worker = new RepairWorker(deps, { lookEveryMs: 5, ...pace });
    const until = async (check: () => unknown) => {
      await worker.start();
      await eventually(async () => check());
      await worker.drain();
    };
    return Object.assign(state, { worker, metrics, until });
  };
  const ends = async (jobId: string) => expect(await progress(jobId)).toMatchObject({ over: true });
  const trail = () =>
    rig.rows<{ action: string; detail: { jobId: string } }>(
      'select action, principal, account_id, request_id, reason, detail from audit_log order by id',
    );
  return Object.assign(rig, { deadLetters, put, open, left, progress, ends, holder, trail });
}

const ofA = (orderId: string, over: Partial<DeadLetterRow> = {}) => ({ accountId: 'A', orderId, ...over });

it('a job of named rows has those of them that are in its scope and have not been dealt with', async () => {
  await using rig = await rigWith([ofA('o-1'), ofA('o-2'), ofA('o-3'), { accountId: 'B', orderId: 'o-4' }]);
  const [one = 0, two = 0, three = 0, ofB = 0] = await rig.left();
  const rowIds = [one, two, ofB, 999_999].map(String);
  expect(await rig.deadLetters.measureJob(everything, 'discard', { rowIds })).toEqual({ total: 3, nameless: 0 });
  const onlyA = { kind: 'accounts', accountIds: ['A'] } as const;
  const jobId = await rig.open('discard', { rowIds }, onlyA);
  expect([await rig.left(), await rig.progress(jobId)]).toEqual([
    [three, ofB],
    { total: 2, done: 2, failed: 0, withdrawn: 0, over: true },
  ]);
  expect((await rig.deadLetters.findJob(everything, jobId))?.filter).toEqual({ rowIds });
});

it('a retry reads each order once, deals with its rows, and fails for those that name no order', async () => {
  await using rig = await rigWith([
    ofA('o-1'),
    ofA('o-1'),
    ofA('gone'),
    { accountId: 'A' },
    {},
    ofA('o-2', { reason: 'poison' }),
  ]);
  expect(await rig.deadLetters.measureJob(everything, 'retry', { reason: 'not_json' })).toEqual({
    total: 5,
    nameless: 2,
  });
  const jobId = await rig.open('retry', { reason: 'not_json' });
  expect(await rig.progress(jobId)).toEqual({ total: 5, done: 0, failed: 2, withdrawn: 0, over: false });
  const one = rig.holder(async (orderId) => lookShows(...(orderId === 'gone' ? [] : [orderId])));
  await one.until(() => rig.ends(jobId));
  expect(one.looks).toEqual(['o-1', 'gone']);
  expect(await rig.progress(jobId)).toEqual({ total: 5, done: 2, failed: 3, withdrawn: 0, over: true });
  expect((await rig.deadLetters.findJob(everything, jobId))?.failures).toEqual([
    { detail: 'it names no order: check it and discard it, or read its account whole', rows: 2 },
    { detail: 'the platform does not show the order any more', rows: 1 },
  ]);
  expect(await rig.left()).toEqual([3, 4, 5, 6]);
  expect((await one.metrics.deadLetterJobRows.get()).values).toMatchObject([
    { labels: { result: 'done' }, value: 2 },
    { labels: { result: 'failed' }, value: 1 },
  ]);
  expect(await rig.trail()).toMatchObject([
    {
      ...{ action: 'dead_letter_job', principal: 'desk', request_id: 'r-1', reason: word.reason },
      detail: { jobId, action: 'retry', filter: { reason: 'not_json' }, rows: 5 },
    },
    { action: 'dead_letter_job_end', principal: 'desk', detail: { jobId, done: 2, failed: 3, withdrawn: 0 } },
  ]);
});

it('a retry fails when what was read becomes a dead letter again, not because of an older row of the order', async () => {
  await using rig = await rigWith([ofA('o-1'), ofA('o-1')]);
  const jobId = await rig.open('retry');
  const one = rig.holder(async (orderId) => {
    expect((await rig.put(2, [ofA(orderId)])).kind).toBe('committed');
    return lookShows(orderId);
  });
  await one.until(() => rig.ends(jobId));
  expect(await rig.progress(jobId)).toMatchObject({ done: 0, failed: 2, over: true });
  expect(await rig.left()).toEqual([1, 2, 3]);

  // The same for one row that a person asks for.
  const retried = rig.holder(async (orderId) => lookShows(orderId));
  await rig.deadLetters.retry(everything, '1', word);
  await rig.deadLetters.retry(everything, '1', word);
  await retried.until(async () => expect((await rig.deadLetters.find(everything, '1'))?.retry?.result).toBe('done'));
  expect(await rig.rows('select count(*)::int as requests from repair_requests where job_id is null')).toEqual([
    { requests: 1 },
  ]);
  expect(await rig.left()).toEqual([2, 3]);
});

it('the next holder goes on with a job where the one before stopped, and no row fails by the takeover', async () => {
  await using rig = await rigWith([ofA('o-1'), ofA('o-2'), ofA('o-3')]);
  const jobId = await rig.open('retry');
  const first = rig.holder(async (orderId) => {
    if (orderId === 'o-1') return lookShows(orderId);
    first.holds = false;
    return lost;
  });
  await first.until(() => expect(first.looks).toHaveLength(2));
  expect(await rig.progress(jobId)).toEqual({ total: 3, done: 1, failed: 0, withdrawn: 0, over: false });
  const second = rig.holder(async (orderId) => lookShows(orderId));
  await second.until(() => rig.ends(jobId));
  expect([first.looks, second.looks]).toEqual([
    ['o-1', 'o-2'],
    ['o-2', 'o-3'],
  ]);
  expect(await rig.progress(jobId)).toMatchObject({ done: 3, over: true });
});

it('a process that stops in the middle of a read leaves its order to the next', async () => {
  await using rig = await rigWith([ofA('o-1')]);
  const jobId = await rig.open('retry');
  const begun = Promise.withResolvers<void>();
  const one = rig.holder(async (_orderId, signal) => {
    begun.resolve();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return lost;
  });
  await one.worker.start();
  await begun.promise;
  await one.worker.drain();
  expect(await rig.progress(jobId)).toMatchObject({ failed: 0, over: false });
});

it('a round has a bounded part of a job, and a request of its own comes before all of them', async () => {
  await using rig = await rigWith(Array.from({ length: 6 }, (_, i) => ofA(`o-${i + 1}`)));
  const jobId = await rig.open('retry');
  const shows = async (orderId: string) => lookShows(orderId);
  const one = rig.holder(shows, { ordersARound: 2, lookEveryMs: 3_600_000 });
  await one.until(async () => expect(await rig.progress(jobId)).toMatchObject({ done: 2 }));
  expect(one.looks).toEqual(['o-1', 'o-2']);
  const own = await askRepair(rig.pool, { kind: 'retry', stream: 'account', accountId: 'A', deadLetterId: 6n });
  const two = rig.holder(shows, { ordersARound: 2 });
  await two.until(() => rig.ends(jobId));
  expect(two.looks).toEqual(['o-6', 'o-3', 'o-4', 'o-5']);
  expect(await readAnswer(rig.pool, own)).toMatchObject({ result: 'done' });
  expect(await rig.progress(jobId)).toMatchObject({ done: 5, failed: 1 });
});

describe('issue: An order was read twice, because its request was answered during the next look.', () => {
  it('an order is read once', async () => {
    await using rig = await rigWith([ofA('o-1')]);
    const jobId = await rig.open('retry');
    const shown = Promise.withResolvers<AccountLook>();
    let looks = 0;
    let answered = false;
    // The second look sees the request open, and has its rows only after the request was answered.
    const pool = {
      query: async (asked: string | { readonly text: string }, values?: unknown[]) => {
        const answer = await rig.pool.query(asked as string, values);
        const text = typeof asked === 'string' ? asked : asked.text;
        if (text.includes('from public.repair_requests where answered_at is null')) looks += 1;
        if (looks === 2 && !answered) {
          answered = true;
          shown.resolve(lookShows('o-1'));
          await eventually(async () => expect(await rig.progress(jobId)).toMatchObject({ done: 1 }));
        }
        return answer;
      },
    } as unknown as Pool;
    const one = rig.holder(() => shown.promise, { pool });
    await one.until(() => rig.ends(jobId));
    expect(one.looks).toEqual(['o-1']);
  });
});

it('an order whose read hangs does not hold up the orders of other accounts', async () => {
  await using rig = await rigWith([ofA('o-1'), { accountId: 'B', orderId: 'o-2' }]);
  const jobId = await rig.open('retry');
  const one = rig.holder(
    (orderId, signal) =>
      orderId === 'o-2'
        ? Promise.resolve(lookShows(orderId))
        : new Promise((resolve) => signal.addEventListener('abort', () => resolve(lost))),
    { follows: ['A', 'B'] },
  );
  await one.until(async () => expect(await rig.progress(jobId)).toMatchObject({ done: 1, over: false }));
});

it('a discard deals with the rows of any lane in its statement, and says so in the trail', async () => {
  await using rig = await rigWith(Array.from({ length: 5 }, () => ({})));
  await rig.pool.query('update dead_letters set lane = 1 where id = 4');
  const jobs = await Promise.all([rig.open('discard'), rig.open('discard')]);
  expect(await rig.left()).toEqual([]);
  const totals = await Promise.all(jobs.map((jobId) => rig.progress(jobId)));
  expect(totals).toContainEqual({ total: 5, done: 5, failed: 0, withdrawn: 0, over: true });
  expect(totals).toContainEqual({ total: 0, done: 0, failed: 0, withdrawn: 0, over: true });
  await rig.deadLetters.cancelJob(everything, jobs[0] ?? '', word);
  expect((await rig.deadLetters.findJob(everything, jobs[0] ?? ''))?.cancelledBy).toBeUndefined();
  const [first] = totals;
  expect((await rig.trail()).filter(({ detail }) => detail.jobId === jobs[0])).toMatchObject([
    { action: 'dead_letter_job', principal: 'desk', detail: { action: 'discard', filter: {}, rows: first?.total } },
    { action: 'dead_letter_job_end', principal: 'desk', detail: { done: first?.total, failed: 0, withdrawn: 0 } },
  ]);
});

it.each(['retry', 'discard'] as const)('a %s has a bounded number of rows, the oldest', async (action) => {
  await using rig = await rigWith([]);
  await rig.pool.query(
    `insert into dead_letters (lane, batch, stream, account_id, order_id, reason, detail, raw, observed_at)
     select 0, 1, 'account', 'A', 'o-' || n, 'not_json', '', '', now() from generate_series(1, 20004) n`,
  );
  expect(await rig.deadLetters.measureJob(everything, action, {})).toEqual({ total: 20_000, nameless: 0 });
  const [first, second] = [await rig.open(action), await rig.open(action)];
  expect([await rig.progress(first), await rig.progress(second)]).toMatchObject([{ total: 20_000 }, { total: 4 }]);
});

it('a cancelled job leaves its open dead letters, also the one that is being read', async () => {
  await using rig = await rigWith([ofA('o-1'), ofA('o-2')]);
  const jobId = await rig.open('retry');
  const one = rig.holder(async (orderId) => {
    await rig.deadLetters.cancelJob(everything, jobId, { ...word, by: 'another' });
    return lookShows(orderId);
  });
  await one.until(() => rig.ends(jobId));
  expect(await rig.progress(jobId)).toEqual({ total: 2, done: 0, failed: 0, withdrawn: 2, over: true });
  expect(await rig.left()).toEqual([1, 2]);
  await rig.deadLetters.cancelJob(everything, jobId, word);
  expect((await rig.deadLetters.findJob(everything, jobId))?.cancelledBy).toBe('another');
  expect((await rig.trail()).map(({ action }) => action)).toEqual(['dead_letter_job', 'dead_letter_job_cancel']);
});

it('a token of some accounts has their rows and jobs only; a row without an account needs one of every account', async () => {
  const some: AccountScope = { kind: 'accounts', accountIds: ['A'] };
  await using rig = await rigWith([ofA('o-1'), { accountId: 'B', orderId: 'o-2' }, {}]);
  const idsOf = async (scope: AccountScope) =>
    (await rig.deadLetters.list(scope, {}, undefined, 9)).items.map(({ id }) => id);
  expect([await idsOf(everything), await idsOf(some)]).toEqual([['1', '2', '3'], ['1']]);
  for (const id of ['2', '3']) {
    expect(await rig.deadLetters.find(some, id)).toBeUndefined();
    expect(await rig.deadLetters.discard(some, id, word)).toBe(false);
    await rig.deadLetters.retry(some, id, word);
  }
  expect(await rig.rows('select from repair_requests')).toEqual([]);
  const all = await rig.open('retry');
  expect(await rig.deadLetters.findJob(some, all)).toBeUndefined();
  await rig.deadLetters.cancelJob(some, all, word);
  expect(await rig.progress(all)).toMatchObject({ total: 3, withdrawn: 0, over: false });
  await rig.deadLetters.cancelJob(everything, all, word);
  const own = await rig.open('discard', {}, some);
  await rig.open('discard', { accountId: 'B' });
  expect((await rig.deadLetters.listJobs(some, 9)).map(({ jobId, total }) => ({ jobId, total }))).toEqual([
    { jobId: own, total: 1 },
  ]);
  expect((await rig.deadLetters.listJobs(everything, 2)).map(({ total }) => total)).toEqual([1, 1]);
});

it('a job that is asked for again has no row twice, and there is a bound of jobs', async () => {
  await using rig = await rigWith([ofA('o-1'), ofA('o-2')]);
  const first = await rig.open('retry');
  const again = await rig.open('retry');
  expect([await rig.progress(first), await rig.progress(again)]).toMatchObject([{ total: 2 }, { total: 0 }]);
  expect(await rig.deadLetters.measureJob(everything, 'retry', {})).toEqual({ total: 0, nameless: 0 });
  for (let jobs = 2; jobs < mostOpenJobs; jobs += 1) await rig.open('retry');
  const more = { jobId: systemRandom.uuid(), action: 'retry', filter: {}, ...word } as const;
  expect(await rig.deadLetters.openJob(everything, more)).toBe(false);
  expect(await rig.deadLetters.findJob(everything, more.jobId)).toBeUndefined();
  expect(await rig.progress(await rig.open('discard')), 'it is over at once').toMatchObject({ total: 2, done: 2 });
});

it('a job is withdrawn after a day without a follower, and kept as long as the log', async () => {
  await using rig = await rigWith([{ accountId: 'not-followed', orderId: 'o-1' }]);
  const jobId = await rig.open('retry');
  await rig.pool.query("update repair_requests set requested_at = now() - interval '2 days'");
  const keep = { maxUndealt: 9, retentionMs: 3_600_000 };
  await maintainDeadLetters(rig.pool, keep);
  await rig.holder(async () => lost).until(() => rig.ends(jobId));
  expect(await rig.progress(jobId)).toEqual({ total: 1, done: 0, failed: 0, withdrawn: 1, over: true });
  await rig.pool.query("update repair_requests set answered_at = now() - interval '2 days'");
  await maintainDeadLetters(rig.pool, keep);
  expect(await rig.progress(jobId)).toMatchObject({ withdrawn: 1 });
  await rig.pool.query("update dead_letter_jobs set ended_at = now() - interval '2 days'");
  await maintainDeadLetters(rig.pool, keep);
  expect(await rig.progress(jobId)).toBeUndefined();
  expect(await rig.rows('select from repair_requests')).toEqual([]);
});

it('a retry whose rows are gone ends, also where no process follows their account', async () => {
  await using rig = await rigWith([{ accountId: 'not-followed', orderId: 'o-1' }]);
  const jobId = await rig.open('retry');
  await rig.open('discard');
  await maintainDeadLetters(rig.pool, { maxUndealt: 9, retentionMs: 3_600_000 });
  await rig.holder(async () => lost).until(() => rig.ends(jobId));
  expect(await rig.progress(jobId)).toMatchObject({ total: 1, withdrawn: 1 });
});

describe('issue: The dead letters grew without a limit when no person dealt with its rows.', () => {
  const hour = 3_600_000;

  async function deadLetterOf(count: number) {
    const rig = await storeRig();
    const rows = Array.from({ length: count }, (_, i) => deadLetter({ accountId: 'A', orderId: `o-${i + 1}` }));
    expect((await rig.store.applyBatch(batch(rig.epoch, 1, [], { deadLetters: rows }))).kind).toBe('committed');
    const left = async () => (await listDeadLetters(rig.pool, 0n, 100)).map(({ id }) => Number(id));
    return Object.assign(rig, { left });
  }

  it('what nobody deals with is bounded: the oldest goes, and how much is told', async () => {
    await using rig = await deadLetterOf(10);
    await markDealt(rig.pool, 2n);
    expect(await maintainDeadLetters(rig.pool, { maxUndealt: 9, retentionMs: hour })).toBe(0);
    expect(await maintainDeadLetters(rig.pool, { maxUndealt: 6, retentionMs: hour })).toBe(3);
    expect(await rig.left()).toEqual([5, 6, 7, 8, 9, 10]);
    expect(await rig.rows('select id from dead_letters where dealt_at is not null')).toEqual([{ id: '2' }]);
  });

  it('the service counts what it drops, and says so as an error', async () => {
    await using rig = await deadLetterOf(1);
    await rig.pool.query(
      `insert into dead_letters (lane, batch, stream, reason, detail, raw, observed_at)
     select 0, 1, 'account', 'not_json', '', '', now() from generate_series(1, 20004)`,
    );
    const errors: unknown[] = [];
    const log = Object.assign(Object.create(testLog), { error: (fields: unknown) => errors.push(fields) });
    const metrics = createMetrics();
    const housekeeping = new Housekeeping(
      { pool: rig.pool, clock: systemClock, metrics, log },
      { partitionRows: 1_000, retentionMs: hour, maintainEveryMs: hour, countEveryMs: hour },
    );
    await housekeeping.start();
    await eventually(async () => expect((await metrics.ingest.deadLetterDropped.get()).values[0]?.value).toBe(5));
    await housekeeping.drain();
    expect(errors).toEqual([{ dropped: 5, maxUndealt: 20_000 }]);
  });

  it('a request for repair is answered once, withdrawn when nobody takes it, and forgotten', async () => {
    await using rig = await deadLetterOf(2);
    const [first, second, third] = [
      await askRepair(rig.pool, { kind: 'retry', stream: 'account', accountId: 'A', deadLetterId: 1n }),
      await askRepair(rig.pool, { kind: 'retry', stream: 'account', accountId: 'A', deadLetterId: 2n }),
      await askRepair(rig.pool, { kind: 'backfill', stream: 'account', accountId: 'A' }),
    ];
    await markDealt(rig.pool, 2n);
    const ofA = { stream: 'account', accountId: 'A', alone: true };
    expect(await openRepairs(rig.pool)).toEqual([
      { ids: [`${first}`], kind: 'retry', ...ofA, orderId: 'o-1' },
      { ids: [`${second}`], kind: 'retry', ...ofA },
      { ids: [`${third}`], kind: 'backfill', ...ofA },
    ]);
    await answerRepairs(rig.pool, [`${first}`], { result: 'done', detail: 'read' });
    await answerRepairs(rig.pool, [`${first}`], { result: 'withdrawn', detail: 'late' });
    expect(await readAnswer(rig.pool, first)).toEqual({ result: 'done', detail: 'read' });
    expect(await readAnswer(rig.pool, second)).toBeUndefined();

    await rig.pool.query("update repair_requests set requested_at = now() - interval '2 days' where id <> $1", [third]);
    await maintainDeadLetters(rig.pool, { maxUndealt: 9, retentionMs: hour });
    expect((await openRepairs(rig.pool)).map(({ ids }) => ids)).toEqual([[`${third}`]]);
    await rig.pool.query(
      "update repair_requests set answered_at = now() - interval '2 days' where answered_at is not null",
    );
    await maintainDeadLetters(rig.pool, { maxUndealt: 9, retentionMs: hour });
    expect(await rig.rows('select id from repair_requests')).toEqual([{ id: String(third) }]);
  });
});
