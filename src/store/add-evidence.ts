import type { Pool } from 'pg';
import type { AuditEntry, NewEvidence } from '../commands/command-journal.ts';
import type { RetryDeps } from './retry-transaction.ts';
import { storableJson, storableText } from './storable-json.ts';
import { writeOnce } from './write-once.ts';

type Deps = RetryDeps & { readonly pool: Pool };

/** True facts beside any step, by anyone, under no fence. Rejects with `NO_SUCH_COMMAND`. */
export async function addEvidence(deps: Deps, commandId: string, evidence: readonly NewEvidence[]): Promise<void> {
  await writeOnce(deps, {
    text: 'select public.add_command_evidence($1, $2)',
    values: [commandId, storableJson(evidence)],
  });
}

/** A line of the audit trail. */
export async function addAuditEntry(deps: Deps, entry: AuditEntry): Promise<void> {
  const { atMs, principal, action, accountId, commandId, requestId, reason, detail } = entry;
  await writeOnce(deps, {
    text: `insert into public.audit_log (at, principal, action, account_id, command_id, request_id, reason, detail)
      values (public.ms_to_time($1), $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      atMs,
      ...[principal, action, accountId, commandId, requestId, reason].map((text) => text && storableText(text)),
      detail === undefined ? null : storableJson(detail),
    ],
  });
}
