import type { Stream } from '../domain/order.ts';
import type { RepairAnswer } from './repair-requests.ts';
import { nonNull } from './rows.ts';
import { type PoolDeps, retryQuery } from './session/retry-transaction.ts';

/**
 * A read of one account on one stream, asked for by a person. Times are milliseconds since the
 * epoch.
 */
export interface AccountRepair {
  readonly id: bigint;
  readonly kind: 'read' | 'backfill';
  readonly stream: Stream;
  readonly sinceMs?: number;
  /** Left out: it was asked for at the command line. */
  readonly askedBy?: string;
  readonly reason?: string;
  readonly requestedMs: number;
  /** Left out: it waits, or is under way. */
  readonly answer?: RepairAnswer & { readonly answeredMs: number };
}

export interface NewAccountRepair {
  readonly kind: AccountRepair['kind'];
  readonly accountId: string;
  /** Left out: every stream on which the account was ever followed. */
  readonly stream?: Stream;
  /** For a backfill. */
  readonly sinceMs?: number;
  readonly askedBy: string;
  readonly reason: string;
}

/**
 * Reads asked for by people. The process that follows the account carries them out, so any process
 * may be asked. Each call rejects when the database can't be reached.
 */
export interface AccountRepairs {
  /**
   * One request a stream. `not_followed`: the account was never followed on that stream.
   * `too_many`: the account has the most open requests it may have.
   */
  ask(asked: NewAccountRepair): Promise<readonly AccountRepair[] | 'not_followed' | 'too_many'>;
  /** The account's newest requests, newest first, open or answered. */
  list(accountId: string, limit: number): Promise<readonly AccountRepair[]>;
}

/**
 * Open requests for one account. A new request is not joined with an open one. The open one may
 * have been read already, and would not show a later change.
 */
const mostOpen = 10;

interface Row extends Pick<AccountRepair, 'kind' | 'stream'> {
  readonly id: string;
  readonly sinceMs: string | null;
  readonly askedBy: string | null;
  readonly reason: string | null;
  readonly requestedMs: string;
  readonly answeredMs: string | null;
  readonly result: RepairAnswer['result'] | null;
  readonly detail: string | null;
}

const columns = `id, kind, stream, public.time_to_ms(since) as "sinceMs", asked_by as "askedBy", reason, public.time_to_ms(requested_at) as "requestedMs",
  public.time_to_ms(answered_at) as "answeredMs", result, detail`;

/** The port `AccountRepairs` in Postgres. */
export function postgresAccountRepairs(deps: PoolDeps): AccountRepairs {
  return {
    /** Not tried again after a failure: the request may be there. */
    async ask({ kind, accountId, stream, sinceMs, askedBy, reason }) {
      const { rows } = await deps.pool.query<
        { [column in keyof Row]: Row[column] | null } & { readonly followed: string }
      >(
        `with followed as (
           select stream from public.accounts where account_id = $1 and ($2::text is null or stream = $2)
         ), made as (
           insert into public.repair_requests (kind, stream, account_id, since, asked_by, reason)
           select $3, f.stream, $1, public.ms_to_time($4::double precision), $5, $6 from followed f
           where (select count(*) from public.repair_requests where answered_at is null and account_id = $1 and job_id is null) < $7
           returning *
         )
         select made.*, (select count(*) from followed) as followed
         from (select 1) as always left join (select ${columns} from made) as made on true order by made.stream`,
        [accountId, stream ?? null, kind, sinceMs ?? null, askedBy, reason, mostOpen],
      );
      const made = rows.filter((row): row is typeof row & Row => row.id !== null).map(toRepair);
      if (made.length > 0) return made;
      return rows[0]?.followed === '0' ? 'not_followed' : 'too_many';
    },
    async list(accountId, limit) {
      const rows = await retryQuery<Row>(
        deps,
        `select ${columns} from public.repair_requests where account_id = $1 and kind in ('read', 'backfill') order by id desc limit $2`,
        [accountId, limit],
      );
      return rows.map(toRepair);
    },
  };
}

function toRepair({
  id,
  kind,
  stream,
  requestedMs,
  sinceMs,
  askedBy,
  reason,
  result,
  detail,
  answeredMs,
}: Row): AccountRepair {
  return {
    ...{ id: BigInt(id), kind, stream, requestedMs: Number(requestedMs) },
    ...(sinceMs !== null && { sinceMs: Number(sinceMs) }),
    ...nonNull({ askedBy, reason }),
    ...(result !== null && { answer: { result, detail: detail ?? '', answeredMs: Number(answeredMs) } }),
  };
}
