import type { Bench, Figure } from './figure.ts';
import { helpCpuSeconds } from './help-cost.ts';
import { withService } from './with-service.ts';

/** Until every source is live, on an empty database; and what a command costs that does nothing. */
export async function measureStart(bench: Bench): Promise<Figure[]> {
  const liveAfterMs = await withService(bench, { part: 'start' }, async ({ service }) => service.liveAfterMs);
  return [
    { name: 'ms from start to live', value: liveAfterMs, atMost: 2500 },
    { name: 's of processor for tidemark --help', value: helpCpuSeconds(bench.build.root), atMost: 0.15 },
  ];
}
