import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cleanup } from './cleanup.ts';
import { type LatencyFigures, measureLatency } from './measure-latency.ts';
import type { Stack } from './stack.ts';
import { type StallShares, type StallTrace, shareStalls } from './stall-shares.ts';
import { withService } from './with-service.ts';

export interface StallFigures extends StallShares {
  /** Of the traced service: tracing costs it some percent. */
  readonly latency: LatencyFigures;
}

/** What the late updates waited for, at each of the rates. */
export async function measureStalls(
  cleanup: Cleanup,
  stack: Stack,
  { rates, seconds }: { readonly rates: readonly number[]; readonly seconds: number },
): Promise<readonly StallFigures[]> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-stalls-'));
  cleanup.add(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'trace.json');
  const windows: { readonly latency: LatencyFigures; readonly fromMs: number; readonly untilMs: number }[] = [];
  const traced = {
    part: 'stalls',
    nodeArgs: ['--import', join(import.meta.dirname, 'stall-trace.ts')],
    env: { BENCH_STALLS_FILE: file },
  };
  await withService(cleanup, stack, traced, async (watched) => {
    for (const rate of rates) {
      const latency = await measureLatency(watched, rate, seconds);
      const untilMs = machineMs();
      windows.push({ latency, fromMs: untilMs - latency.load.seconds * 1000, untilMs });
    }
  });
  const trace = JSON.parse(await readFile(file, 'utf8')) as StallTrace;
  return windows.map(({ latency, fromMs, untilMs }) => {
    const { clockOffsetMs } = trace;
    return { ...shareStalls(trace, { fromMs: fromMs - clockOffsetMs, untilMs: untilMs - clockOffsetMs }), latency };
  });
}

/** The machine's monotonic clock, the same in every process. */
function machineMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
