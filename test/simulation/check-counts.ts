import type { SimulatedService } from './simulated-service.ts';
import type { World } from './world.ts';

/** Everything that was offered in this term has ended, and each as one outcome (invariants.md 4); queues are empty and within their bounds (23). */
export function checkCounts({ services }: World): string[] {
  return services.flatMap((service) => [...offersAddUp(service)]);
}

function offersAddUp({ host, keeper, coverage, ingest }: SimulatedService): string[] {
  if (keeper.state !== 'held') return [];
  const { offered, settledOnce } = coverage;
  if (ingest.depth === 0 && offered === settledOnce) return [];
  return [`${host.name}: ${offered} observations were offered, ${settledOnce} ended, ${ingest.depth} are queued`];
}
