import type { SimulatedService } from '../simulated-service.ts';
import type { SimulatedWorld } from '../simulated-world.ts';

/**
 * Everything that was offered in this term has ended, and each as one result (docs/guarantees.md
 * 4); queues are empty and within their bounds (23).
 */
export function checkCounts({ services }: SimulatedWorld): string[] {
  return services.flatMap((service) => [...offersAddUp(service)]);
}

function offersAddUp({ host, keeper, coverage, ingest }: SimulatedService): string[] {
  if (keeper.state !== 'held') return [];
  const { offered, settledOnce } = coverage;
  if (ingest.depth === 0 && offered === settledOnce) return [];
  return [`${host.name}: ${offered} observations were offered, ${settledOnce} ended, ${ingest.depth} are queued`];
}

/**
 * Every frame that a process was handed is counted as what it was, also those of earlier terms.
 * Once it has stopped: a running source counts a second at a time.
 */
export async function checkFrames({ services, platform }: SimulatedWorld): Promise<string[]> {
  const wrong: string[] = [];
  for (const { host, metrics, exitCode } of services) {
    if (exitCode === undefined) continue;
    const { values } = await metrics.source.frames.get();
    const counted = values.filter(({ labels }) => labels.type !== 'foreign').reduce((sum, { value }) => sum + value, 0);
    const handed = platform.stream.framesTo(host);
    if (counted !== handed) wrong.push(`${host.name} was handed ${handed} frames and counted ${counted}`);
  }
  return wrong;
}
