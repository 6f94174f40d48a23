import type { Pool } from 'pg';
import { inScope, scopeParameter } from '../account-scope.ts';
import type { AccountScope, Page } from '../orders/order-reads.ts';
import { fromRow, nonNull, type RowOf } from '../rows.ts';
import { type PoolDeps, retryTransaction } from '../session/retry-transaction.ts';
import { storableColumn, writeOnce } from '../session/write-once.ts';
import type {
  DeadLetterAccess,
  DeadLetterAction,
  DeadLetterEntry,
  DeadLetterFilter,
  DeadLetterJob,
  DeadLetterMessage,
  DeadLetterRetry,
  DeadLetterWord,
  JobSize,
  NewDeadLetterJob,
} from './dead-letter-access.ts';
import { cancelJob, measureJob, openJob, readJobs, rowsThatMatch } from './dead-letter-jobs.ts';

/** The newest request to read its order again; null: there is none. */
type RetryRow = RowOf<Pick<DeadLetterRetry, 'answeredAt' | 'result'>> & {
  readonly requestedAt: Date | null;
  readonly answer: string | null;
};

const entryColumns = `q.id::text as id, q.stream, q.account_id as "accountId", q.order_id as "orderId", q.reason, q.detail,
  q.observed_at as "observedAt", q.recorded_at as "recordedAt", q.dealt_at as "dealtAt"`;

/**
 * The port `DeadLetterAccess` in Postgres. `readPool`: made by `createReadPool`, for reads.
 */
export class PostgresDeadLetters implements DeadLetterAccess {
  private readonly deps: PoolDeps & { readonly readPool: Pool };

  constructor(deps: PoolDeps & { readonly readPool: Pool }) {
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
    const rows = await this.read<RowOf<DeadLetterEntry>>(
      `select ${entryColumns} from public.dead_letters q where ${text} and q.id > ${from}::bigint order by q.id limit ${most}`,
      values,
    );
    const items = rows.slice(0, limit).map(fromRow<DeadLetterEntry>);
    const last = items.at(-1);
    return rows.length > limit && last !== undefined ? { items, next: [last.id] } : { items };
  }

  async find(scope: AccountScope, id: string): Promise<DeadLetterMessage | undefined> {
    const [row] = await this.read<RowOf<DeadLetterEntry & { readonly raw: string }> & RetryRow>(
      `select ${entryColumns}, q.raw, r.requested_at as "requestedAt", r.answered_at as "answeredAt", r.result, r.detail as answer
       from public.dead_letters q left join lateral (
         select * from public.repair_requests where dead_letter_id = q.id and kind = 'retry' order by id desc limit 1
       ) r on true
       where q.id = $2 and ${inScope('q.account_id', 1)}`,
      [scopeParameter(scope), id],
    );
    if (row === undefined) return undefined;
    const { requestedAt, answeredAt, result, answer: detail, ...entry } = row;
    const message = fromRow<DeadLetterMessage>({ ...entry, retry: null });
    if (requestedAt === null) return message;
    return { ...message, retry: { requestedAt, ...nonNull({ answeredAt, result, detail }) } };
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
