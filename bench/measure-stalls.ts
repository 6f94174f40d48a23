import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bench, Figure } from './figure.ts';
import { latencyAt } from './measure-latency.ts';
import { lateMs, type StallTrace, shareStalls } from './stall-shares.ts';
import { withService } from './with-service.ts';

const rates = [1000, 5000];
const seconds = 20;

/** What late updates waited for, at each of the rates. Tracing costs the service some percent. */
export async function measureStalls(bench: Bench): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-stalls-'));
  bench.cleanup.add(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'trace.json');
  const windows: { readonly rate: number; readonly fromMs: number; readonly untilMs: number }[] = [];
  const traced = {
    part: 'stalls',
    nodeArgs: ['--import', join(import.meta.dirname, 'stall-trace.ts')],
    env: async () => ({ BENCH_STALLS_FILE: file }),
  };
  await withService(bench, traced, async (watched) => {
    for (const rate of rates) {
      const { load } = await latencyAt(watched, rate, seconds);
      const untilMs = machineMs();
      windows.push({ rate, fromMs: untilMs - load.seconds * 1000, untilMs });
    }
  });
  const trace = JSON.parse(await readFile(file, 'utf8')) as StallTrace;
  const { clockOffsetMs } = trace;
  return windows.flatMap(({ rate, fromMs, untilMs }) => {
    const shares = shareStalls(trace, { fromMs: fromMs - clockOffsetMs, untilMs: untilMs - clockOffsetMs });
    return [
      { name: `updates over ${lateMs} ms at ${rate}/s`, value: shares.late, note: `of ${shares.updates}` },
      ...shares.causes.map(({ cause, percent, longestOf }) => ({
        name: `% of their time at ${rate}/s: ${cause}`,
        value: percent,
        note: `longest of ${longestOf}`,
      })),
    ];
  });
}

/** The machine's monotonic clock, the same in every process. */
function machineMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
