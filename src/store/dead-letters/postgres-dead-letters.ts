import type { Pool } from 'pg';
import { inScope, scopeParameter } from '../account-scope.ts';
import { intoAuditTrail, type PersonsWord } from '../commands/read-audit-trail.ts';
import type { AccountScope } from '../orders/order-reads.ts';
import { fromRow, nonNull, type RowOf } from '../rows.ts';
import { type PoolDeps, repeated, retryQuery } from '../session/retry-transaction.ts';
import { storableColumn, writeOnce } from '../session/write-once.ts';
import type { DeadLetterAccess, DeadLetterEntry, DeadLetterMessage, DeadLetterRetry } from './dead-letter-access.ts';
import { cancelJob, measureJob, openJob, readJobs, rowsThatMatch } from './dead-letter-jobs.ts';

/** The newest request to read its order again; null: there is none. */
type RetryRow = RowOf<Pick<DeadLetterRetry, 'answeredAt' | 'result'>> & {
  readonly requestedAt: Date | null;
  readonly answer: string | null;
};

const entryColumns = `q.id::text as id, q.stream, q.account_id as "accountId", q.order_id as "orderId", q.reason, q.detail,
  q.observed_at as "observedAt", q.recorded_at as "recordedAt", q.dealt_at as "dealtAt"`;

/** The port `DeadLetterAccess` in Postgres. `readPool`: made by `createReadPool`, for reads. */
export function postgresDeadLetters(deps: PoolDeps & { readonly readPool: Pool }): DeadLetterAccess {
  const reading = { ...deps, pool: deps.readPool };
  const read = repeated(reading);
  const jobs = read(readJobs);
  return {
    async list(scope, filter, after, limit) {
      const { text, values } = rowsThatMatch(scope, filter);
      const from = `$${values.push(after?.[0] ?? '0')}`;
      const most = `$${values.push(limit + 1)}`;
      const rows = await retryQuery<RowOf<DeadLetterEntry>>(
        reading,
        `select ${entryColumns} from public.dead_letters q where ${text} and q.id > ${from}::bigint order by q.id limit ${most}`,
        values,
      );
      const items = rows.slice(0, limit).map(fromRow<DeadLetterEntry>);
      const last = items.at(-1);
      return rows.length > limit && last !== undefined ? { items, next: [last.id] } : { items };
    },
    find: (scope, id) => findMessage(reading, scope, id),
    retry: (scope, id, word) => askForRetry(deps, scope, id, word),
    discard: (scope, id, word) => discard(deps, scope, id, word),
    measureJob: read(measureJob),
    openJob: (scope, job) => openJob(deps, scope, job),
    findJob: async (scope, jobId) => (await jobs(scope, { jobId, limit: 1 }))[0],
    listJobs: (scope, limit) => jobs(scope, { limit }),
    cancelJob: (scope, jobId, word) => cancelJob(deps, scope, jobId, word),
  };
}

async function findMessage(deps: PoolDeps, scope: AccountScope, id: string): Promise<DeadLetterMessage | undefined> {
  const [row] = await retryQuery<RowOf<DeadLetterEntry & { readonly raw: string }> & RetryRow>(
    deps,
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

async function askForRetry(deps: PoolDeps, scope: AccountScope, id: string, word: PersonsWord): Promise<void> {
  await writeOnce(deps, {
    text: `with asked as (
        insert into public.repair_requests (kind, stream, account_id, dead_letter_id)
        select 'retry', q.stream, q.account_id, q.id from public.dead_letters q
        where q.id = $2 and ${inScope('q.account_id', 1)} and q.dealt_at is null and q.account_id is not null and q.order_id is not null
          and not exists (select from public.repair_requests r where r.dead_letter_id = q.id and r.job_id is null and r.answered_at is null)
        returning dead_letter_id, stream, account_id)
      ${intoAuditTrail}
      select clock_timestamp(), $3, 'dead_letter_retry', account_id, $4, $5, json_build_object('id', dead_letter_id::text, 'stream', stream) from asked`,
    values: [scopeParameter(scope), id, ...wordValues(word)],
  });
}

async function discard(deps: PoolDeps, scope: AccountScope, id: string, word: PersonsWord): Promise<boolean> {
  const rows = await writeOnce(deps, {
    text: `with dealt as (
        update public.dead_letters q set dealt_at = now() where q.id = $2 and ${inScope('q.account_id', 1)} and q.dealt_at is null
        returning q.id, q.stream, q.account_id)
      ${intoAuditTrail}
      select clock_timestamp(), $3, 'dead_letter_discard', account_id, $4, $5, json_build_object('id', id::text, 'stream', stream) from dealt
      returning id`,
    values: [scopeParameter(scope), id, ...wordValues(word)],
  });
  return rows.length > 0;
}

/** As parameters 3 to 5. */
function wordValues({ by, requestId, reason }: PersonsWord): readonly string[] {
  return [storableColumn(by), requestId, storableColumn(reason)];
}
