import type { Halt } from '../commands/command-journal.ts';
import { formatInstant } from '../domain/instant.ts';
import { maySee } from './auth/principal.ts';
import type { AccountScope } from './order-reads.ts';

/** Halts in force, of the service and of the accounts that the caller may see. */
export function haltBody(halts: readonly Halt[], accounts: AccountScope) {
  const seen = halts.filter(({ scope }) => scope.kind === 'service' || maySee(accounts, scope.accountId));
  return {
    halts: seen.map(({ haltId, scope, cause, reason, by, sinceMs }) => ({
      haltId,
      scope,
      cause,
      reason,
      by,
      since: formatInstant(sinceMs),
    })),
  };
}
