import type { SimulatedService } from '../simulated-service.ts';
import type { SimulatedWorld } from '../simulated-world.ts';

/**
 * A process shows an open order from its memory as the database has it (`heldOrderReads`), whatever
 * is under way. Not where the database lost commits, or its clock was set: the process learns of
 * that a moment later. A frozen one is asked too: after its freeze it may read a request first.
 */
export function staleReads({ services, database, databaseClockWasSet }: SimulatedWorld): string[] {
  if (database.restored || databaseClockWasSet) return [];
  return services.flatMap((service) => (service.host.crashed ? [] : staleAt(service, database)));
}

function staleAt({ host, ingest, held }: SimulatedService, { heads }: SimulatedWorld['database']): string[] {
  const stale: string[] = [];
  for (const [key, { accountId, revision }] of heads) {
    const shown = held.follows(accountId) ? ingest.openOrder(key) : undefined;
    if (shown !== undefined && shown.revision !== revision)
      stale.push(`${host.name} shows ${key} at revision ${shown.revision}, and the database has ${revision}`);
  }
  return stale;
}
