import type { Pool } from 'pg';
import type { Approval, ClearingWord, Deed } from './command-journal.ts';
import type { RetryDeps } from './retry-transaction.ts';
import { storableJson, storableText, writeOnce } from './write-once.ts';

type Deps = RetryDeps & { readonly pool: Pool };

interface Row {
  readonly approval_id: string;
  readonly deed: Deed;
  readonly account_id: string | null;
  readonly requested_by: string;
  readonly reason: string;
  readonly request_id: string;
  readonly requested_ms: string;
  readonly expires_ms: string;
}

/** Raw: each write is one statement with its line of the audit trail, and the list reads the columns that it returns. */
const columns = `approval_id, deed, account_id, requested_by, reason, request_id, public.time_to_ms(requested_at) as requested_ms,
  public.time_to_ms(expires_at) as expires_ms`;

/** Writes the request, with its line of the audit trail. */
export async function requestApproval(deps: Deps, approval: Approval): Promise<void> {
  const { approvalId, deed, accountId, by, reason, requestId, atMs, expiresAtMs } = approval;
  await writeOnce(deps, {
    text: `with asked as (
        insert into public.approvals (approval_id, deed, account_id, requested_by, reason, request_id, requested_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, public.ms_to_time($7), public.ms_to_time($8)) returning *)
      insert into public.audit_log (at, principal, action, account_id, request_id, reason, detail)
      select requested_at, requested_by, 'request_approval', account_id, request_id, reason, json_build_object('approvalId', approval_id, 'deed', deed) from asked`,
    values: [
      approvalId,
      storableJson(deed),
      accountId ?? null,
      storableText(by),
      storableText(reason),
      requestId,
      atMs,
      expiresAtMs,
    ],
  });
}

/** The requests that are not approved and have not expired, oldest first. */
export async function readApprovals(pool: Pool, atMs: number): Promise<Approval[]> {
  const { rows } = await pool.query<Row>(
    `select ${columns} from public.approvals where approved_at is null and expires_at > public.ms_to_time($1) order by requested_at, approval_id limit 1000`,
    [atMs],
  );
  return rows.map(toApproval);
}

/** Approves once, with its line of the audit trail; undefined: no request with this id waits for this principal. */
export async function takeApproval(
  deps: Deps,
  approvalId: string,
  word: ClearingWord & { readonly requestId: string },
): Promise<Approval | undefined> {
  const [row] = await writeOnce<Row>(deps, {
    text: `with taken as (
        update public.approvals set approved_by = $2, approved_reason = $3, approved_at = public.ms_to_time($4)
        where approval_id = $1 and approved_at is null and expires_at > public.ms_to_time($4) and requested_by <> $2 returning *
      ), line as (
        insert into public.audit_log (at, principal, action, account_id, request_id, reason, detail)
        select approved_at, approved_by, 'approve', account_id, $5, approved_reason,
          json_build_object('approvalId', approval_id, 'deed', deed, 'requestedBy', requested_by) from taken)
      select ${columns} from taken`,
    values: [approvalId, storableText(word.by), storableText(word.reason), word.atMs, word.requestId],
  });
  return row && toApproval(row);
}

function toApproval(row: Row): Approval {
  return {
    approvalId: row.approval_id,
    deed: row.deed,
    ...(row.account_id !== null && { accountId: row.account_id }),
    by: row.requested_by,
    reason: row.reason,
    requestId: row.request_id,
    atMs: Number(row.requested_ms),
    expiresAtMs: Number(row.expires_ms),
  };
}
