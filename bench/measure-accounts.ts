import { systemClock } from '../src/runtime/clock.ts';
import type { Cleanup } from './cleanup.ts';
import { type AloneFigures, costAt } from './measure-alone.ts';
import { type LatencyFigures, measureLatency } from './measure-latency.ts';
import { settle } from './measure-service.ts';
import { sumOf } from './prometheus-text.ts';
import { processUsage } from './sample-process.ts';
import type { Stack } from './stack.ts';
import type { Watched } from './watch-load.ts';
import { withService } from './with-service.ts';

export interface RestFigures {
  readonly accounts: number;
  /** Of one core, by the service, while nothing changes. */
  readonly servicePercent: number;
  readonly batchesPerSecond: number;
  readonly rssMb: number;
}

export interface AccountsFigures {
  readonly atRest: RestFigures;
  /** At the same rate with a few accounts, and with many. */
  readonly loaded: readonly { readonly accounts: string; readonly cost: AloneFigures; readonly latency: LatencyFigures }[];
}

const restingAccounts = 500;
const rate = 5_000;

/** Many accounts: at rest, and under load beside a few of them. */
export async function measureAccounts(
  cleanup: Cleanup,
  stack: Stack,
  { accounts, seconds }: { readonly accounts: number; readonly seconds: number },
): Promise<AccountsFigures> {
  const resting = { part: 'resting', load: { accounts: restingAccounts } };
  const atRest = await withService(cleanup, stack, resting, (watched) => atRestFor(watched, seconds));
  const loaded: AccountsFigures['loaded'][number][] = [];
  for (const count of [undefined, accounts]) {
    const load = count === undefined ? {} : { accounts: count };
    const latency = await withService(cleanup, stack, { part: 'accounts', load }, async (watched) => {
      const found = await measureLatency(watched, rate, seconds);
      await settle(watched);
      return found;
    });
    loaded.push({ accounts: count === undefined ? 'a few' : String(count), cost: costAt(rate, latency.load), latency });
  }
  return { atRest, loaded };
}

/** Settled for as long as it is measured: the first lists are read, and marks come every 15 s. */
async function atRestFor({ service }: Watched, seconds: number): Promise<RestFigures> {
  const batches = async () => sumOf(await service.scrape(), 'tidemark_batch_size_count');
  await systemClock.sleep(seconds * 1000);
  const [before, cpuBefore, startMs] = [await batches(), processUsage(service.child.pid), performance.now()];
  // A whole round of marks.
  await systemClock.sleep(15_000);
  const cpuAfter = processUsage(service.child.pid);
  const elapsed = (performance.now() - startMs) / 1000;
  const cpu = (cpuAfter?.cpuSeconds ?? 0) - (cpuBefore?.cpuSeconds ?? 0);
  return {
    accounts: restingAccounts,
    servicePercent: Math.round((cpu / elapsed) * 1000) / 10,
    batchesPerSecond: Math.round((((await batches()) - before) / elapsed) * 10) / 10,
    rssMb: Math.round(cpuAfter?.rssMb ?? 0),
  };
}
