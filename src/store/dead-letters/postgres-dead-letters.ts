import type { Pool } from 'pg';
import type { Stream } from '../../domain/order.ts';
import { inScope, scopeParameter } from '../account-scope.ts';
import type { AccountScope, Page } from '../orders/order-reads.ts';
import { type RetryDeps, retryTransaction } from '../session/retry-transaction.ts';
import { storableColumn, writeOnce } from '../session/write-once.ts';
import type {
  DeadLetterAccess,
  DeadLetterAction,
  DeadLetterEntry,
  DeadLetterFilter,
  DeadLetterJob,
  DeadLetterMessage,
  DeadLetterWord,
  JobSize,
  NewDeadLetterJob,
} from './dead-letter-access.ts';
import { cancelJob, measureJob, openJob, readJobs, rowsThatMatch } from './dead-letter-jobs.ts';

interface EntryRow {
  readonly id: string;
  readonly stream: Stream;
  readonly account_id: string | null;
  readonly order_id: string | null;
  readonly reason: string;
  readonly detail: string;
  readonly observed_at: Date;
  readonly recorded_at: Date;
  readonly dealt_at: Date | null;
}

interface MessageRow extends EntryRow {
  readonly raw: string;
  readonly requested_at: Date | null;
  readonly answered_at: Date | null;
  readonly result: 'done' | 'failed' | 'withdrawn' | null;
  readonly answer: string | null;
}

const entryColumns =
  'q.id::text as id, q.stream, q.account_id, q.order_id, q.reason, q.detail, q.observed_at, q.recorded_at, q.dealt_at';

/**
 * The port `DeadLetterAccess` in Postgres. `readPool`: made by `createReadPool`, for reads.
 */
export class PostgresDeadLetters implements DeadLetterAccess {
  private readonly deps: RetryDeps & { readonly pool: Pool; readonly readPool: Pool };

  constructor(deps: RetryDeps & { readonly pool: Pool; readonly readPool: Pool }) {
    this.deps = deps;
  }

  async list(
    scope: AccountScope,
    filter: DeadLetterFilter,
    after: readonly string[] | undefined,
    limit: number,
  ): Promise<Page<DeadLetterEntry>> {
    const { text, values } = rowsThatMatch(scope, filter);
    const from = `$${values.push(after?.[0] ?? '0')}`;
    const most = `$${values.push(limit + 1)}`;
    const rows = await this.read<EntryRow>(
      `select ${entryColumns} from public.dead_letters q where ${text} and q.id > ${from}::bigint order by q.id limit ${most}`,
      values,
    );
    const items = rows.slice(0, limit).map(toEntry);
    const last = items.at(-1);
    return rows.length > limit && last !== undefined ? { items, next: [last.id] } : { items };
  }

  async find(scope: AccountScope, id: string): Promise<DeadLetterMessage | undefined> {
    const [row] = await this.read<MessageRow>(
      `select ${entryColumns}, q.raw, r.requested_at, r.answered_at, r.result, r.detail as answer
       from public.dead_letters q left join lateral (
         select * from public.repair_requests where dead_letter_id = q.id and kind = 'retry' order by id desc limit 1
       ) r on true
       where q.id = $2 and ${inScope('q.account_id', 1)}`,
      [scopeParameter(scope), id],
    );
    return row && toMessage(row);
  }

  async retry(scope: AccountScope, id: string, word: DeadLetterWord): Promise<void> {
    await writeOnce(this.deps, {
      text: `with asked as (
          insert into public.repair_requests (kind, stream, account_id, dead_letter_id)
          select 'retry', q.stream, q.account_id, q.id from public.dead_letters q
          where q.id = $2 and ${inScope('q.account_id', 1)} and q.dealt_at is null and q.account_id is not null and q.order_id is not null
            and not exists (select from public.repair_requests r where r.dead_letter_id = q.id and r.job_id is null and r.answered_at is null)
          returning dead_letter_id, stream, account_id)
        insert into public.audit_log (at, principal, action, account_id, request_id, reason, detail)
        select clock_timestamp(), $3, 'dead_letter_retry', account_id, $4, $5, json_build_object('id', dead_letter_id::text, 'stream', stream) from asked`,
      values: [scopeParameter(scope), id, ...wordValues(word)],
    });
  }

  async discard(scope: AccountScope, id: string, word: DeadLetterWord): Promise<boolean> {
    const rows = await writeOnce(this.deps, {
      text: `with dealt as (
          update public.dead_letters q set dealt_at = now() where q.id = $2 and ${inScope('q.account_id', 1)} and q.dealt_at is null
          returning q.id, q.stream, q.account_id)
        insert into public.audit_log (at, principal, action, account_id, request_id, reason, detail)
        select clock_timestamp(), $3, 'dead_letter_discard', account_id, $4, $5, json_build_object('id', id::text, 'stream', stream) from dealt
        returning id`,
      values: [scopeParameter(scope), id, ...wordValues(word)],
    });
    return rows.length > 0;
  }

  measureJob(scope: AccountScope, action: DeadLetterAction, filter: DeadLetterFilter): Promise<JobSize> {
    return retryTransaction(this.deps, () => measureJob(this.deps.readPool, scope, action, filter));
  }

  openJob(scope: AccountScope, job: NewDeadLetterJob): Promise<boolean> {
    return openJob(this.deps, scope, job);
  }

  async findJob(scope: AccountScope, jobId: string): Promise<DeadLetterJob | undefined> {
    const [job] = await retryTransaction(this.deps, () => readJobs(this.deps.readPool, scope, { jobId, limit: 1 }));
    return job;
  }

  listJobs(scope: AccountScope, limit: number): Promise<readonly DeadLetterJob[]> {
    return retryTransaction(this.deps, () => readJobs(this.deps.readPool, scope, { limit }));
  }

  cancelJob(scope: AccountScope, jobId: string, word: DeadLetterWord): Promise<void> {
    return cancelJob(this.deps, scope, jobId, word);
  }

  private async read<R extends object>(text: string, values: readonly unknown[]): Promise<R[]> {
    const { rows } = await retryTransaction(this.deps, () =>
      this.deps.readPool.query<R & Record<string, unknown>>(text, [...values]),
    );
    return rows;
  }
}

/** As parameters 3 to 5. */
function wordValues({ by, requestId, reason }: DeadLetterWord): readonly string[] {
  return [storableColumn(by), requestId, storableColumn(reason)];
}

function toEntry(row: EntryRow): DeadLetterEntry {
  const { id, stream, account_id, order_id, reason, detail, observed_at, recorded_at, dealt_at } = row;
  return {
    id,
    stream,
    ...(account_id !== null && { accountId: account_id }),
    ...(order_id !== null && { orderId: order_id }),
    reason,
    detail,
    observedAt: observed_at,
    recordedAt: recorded_at,
    ...(dealt_at !== null && { dealtAt: dealt_at }),
  };
}

function toMessage(row: MessageRow): DeadLetterMessage {
  const { raw, requested_at, answered_at, result, answer } = row;
  if (requested_at === null) return { ...toEntry(row), raw };
  const retry = {
    requestedAt: requested_at,
    ...(answered_at !== null && { answeredAt: answered_at }),
    ...(result !== null && { result }),
    ...(answer !== null && { detail: answer }),
  };
  return { ...toEntry(row), raw, retry };
}
