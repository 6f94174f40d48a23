import type { Pool } from 'pg';
import type { AuditEntry, NewEvidence } from '../commands/command-journal.ts';
import type { RetryDeps } from './retry-transaction.ts';
import { storableJson } from './storable-json.ts';
import { writeOnce } from './write-once.ts';

type Deps = RetryDeps & { readonly pool: Pool };

/** True facts beside any step, by anyone, under no fence. Rejects with `NO_SUCH_COMMAND`. */
export async function addEvidence(deps: Deps, commandId: string, evidence: readonly NewEvidence[]): Promise<void> {
  await writeOnce(deps, {
    text: 'select public.add_command_evidence($1, $2)',
    values: [commandId, storableJson(evidence)],
  });
}

/** Lines of the audit trail, in this order, in one statement. */
export async function addAuditEntries(deps: Deps, entries: readonly AuditEntry[]): Promise<void> {
  await writeOnce(deps, {
    name: 'add_audit_entries',
    text: `insert into public.audit_log (at, principal, action, account_id, command_id, request_id, reason, detail)
      select public.ms_to_time((e ->> 'atMs')::double precision), e ->> 'principal', e ->> 'action', e ->> 'accountId', e ->> 'commandId', e ->> 'requestId',
        e ->> 'reason', e -> 'detail'
      from json_array_elements($1::json) with ordinality as line(e, place) order by place`,
    values: [storableJson(entries)],
  });
}
