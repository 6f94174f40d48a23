import type { Cleanup } from './cleanup.ts';
import { loadAt, settle } from './measure-service.ts';
import type { Stack } from './stack.ts';
import type { LoadFigures } from './watch-load.ts';
import { withService } from './with-service.ts';

/** What the service's process takes at one rate, beside what all processes take. */
export interface AloneFigures {
  readonly rate: number;
  readonly publishedPerSecond: number;
  /** User and system, for an update. */
  readonly serviceMicros: number;
  readonly servicePercent: number;
  readonly allMicros: number;
  readonly elsewherePercent: number;
}

/**
 * The processor time of the service at rates from quiet to busy: an
 * update is the dearer the fewer share a batch.
 */
export async function measureAlone(
  cleanup: Cleanup,
  stack: Stack,
  { rates, seconds }: { readonly rates: readonly number[]; readonly seconds: number },
): Promise<readonly AloneFigures[]> {
  return withService(cleanup, stack, { part: 'alone' }, async (watched) => {
    // The service is still being compiled at first.
    await loadAt(watched, Math.max(...rates) / 2, seconds / 2);
    await settle(watched);
    const figures: AloneFigures[] = [];
    for (const rate of rates) {
      figures.push(costAt(rate, await loadAt(watched, rate, seconds)));
      await settle(watched);
    }
    return figures;
  });
}

export function costAt(rate: number, { publishedPerSecond, processes, elsewherePercent }: LoadFigures): AloneFigures {
  const service = processes.find(({ name }) => name === 'service');
  const allMicros = Math.round(processes.reduce((sum, { cpuMicrosPerUpdate }) => sum + cpuMicrosPerUpdate, 0));
  const { cpuMicrosPerUpdate: serviceMicros = 0, cpuPercent: servicePercent = 0 } = service ?? {};
  return { rate, publishedPerSecond, serviceMicros, servicePercent, allMicros, elsewherePercent };
}
