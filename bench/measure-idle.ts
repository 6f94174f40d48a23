import { systemClock } from '../src/runtime/clock.ts';
import type { Cleanup } from './cleanup.ts';
import { sumOf } from './prometheus-text.ts';
import { startSandboxProcess } from './sandbox-process.ts';
import { startServiceProcess } from './service-process.ts';
import type { Stack } from './stack.ts';
import { watchLoad } from './watch-load.ts';

interface RestFigures {
  readonly accounts: number;
  readonly batchesPerSecond: number;
  /** Records of the continuity topic. */
  readonly marksPerSecond: number;
  /** Of one core, by process. */
  readonly percent: Readonly<Record<string, number>>;
}

export interface IdleFigures {
  readonly few: RestFigures;
  readonly many: RestFigures;
  readonly crowd: RestFigures;
  /**
   * Of one core, in service, Postgres and Kafka together: what the accounts cost beyond the few.
   */
  readonly accountsPercent: number;
  /** Of one core, in the service alone: what the crowd costs beyond the few. */
  readonly crowdPercent: number;
}

/** Audits begin a minute after an account is live, and are a part of what many cost. */
const few = { accounts: 2, warmUpMs: 20_000 };
const many = { accounts: 500, warmUpMs: 60_000 };
const crowd = { accounts: 1000, warmUpMs: 90_000 };
const seconds = 45;
const ours = ['service', 'postgres', 'kafka'];

/** The cost of accounts in which nothing happens: everything is live, no order changes. */
export async function measureIdle(cleanup: Cleanup, stack: Stack): Promise<IdleFigures> {
  const least = await atRest(cleanup, stack, few);
  const most = await atRest(cleanup, stack, many);
  const crowded = await atRest(cleanup, stack, crowd);
  const serviceOf = ({ percent }: RestFigures) => percent['service'] ?? 0;
  return {
    ...{ few: least, many: most, crowd: crowded },
    accountsPercent: round(totalOf(most) - totalOf(least)),
    crowdPercent: round(serviceOf(crowded) - serviceOf(least)),
  };
}

export function totalOf({ percent }: RestFigures): number {
  return round(ours.reduce((sum, name) => sum + (percent[name] ?? 0), 0));
}

async function atRest(cleanup: Cleanup, stack: Stack, { accounts, warmUpMs }: typeof few): Promise<RestFigures> {
  const sandbox = await startSandboxProcess(cleanup, { openOrders: 2 * accounts, knownOrders: 4 * accounts, accounts });
  const service = await startServiceProcess(cleanup, stack, sandbox, { part: 'idle' });
  await systemClock.sleep(warmUpMs);
  // One sample at each end: a scrape costs the service more than a second at rest does.
  const load = await watchLoad({ stack, sandbox, service }, { seconds, sampleEveryMs: seconds * 1000 });
  const { figures, before, after } = load;
  const rateOf = (name: string, labels = {}) =>
    round((sumOf(after, name, labels) - sumOf(before, name, labels)) / figures.seconds);
  await service.stop();
  await sandbox.stop();
  return {
    accounts,
    batchesPerSecond: rateOf('tidemark_batch_size_count'),
    marksPerSecond: rateOf('tidemark_publish_records_total', { topic: 'continuity', outcome: 'acknowledged' }),
    percent: Object.fromEntries(
      figures.processes.map(({ name, cpuSeconds }) => [name, round((100 * cpuSeconds) / figures.seconds)]),
    ),
  };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
