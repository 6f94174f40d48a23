import { systemClock } from '../src/runtime/clock.ts';
import type { Bench, Figure } from './figure.ts';
import { sumOf } from './prometheus-text.ts';
import { watchLoad } from './watch-load.ts';
import { withService } from './with-service.ts';

interface IdleFigures {
  readonly accounts: number;
  readonly batchesPerSecond: number;
  /** Records of the watermark topic. */
  readonly marksPerSecond: number;
  /** Of one core, by process. */
  readonly percent: Readonly<Record<string, number>>;
}

/** Audits begin a minute after an account is live, and are a part of what many cost. */
const few = { accounts: 2, warmUpMs: 20_000 };
const many = { accounts: 500, warmUpMs: 60_000 };
const crowd = { accounts: 1000, warmUpMs: 90_000 };
const seconds = 45;
const ours = ['service', 'postgres', 'kafka'];

/** The cost of accounts in which nothing happens: everything is live, no order changes. */
export async function measureIdle(bench: Bench): Promise<Figure[]> {
  const least = await atRest(bench, few);
  const most = await atRest(bench, many);
  const crowded = await atRest(bench, crowd);
  const serviceOf = ({ percent }: IdleFigures) => percent['service'] ?? 0;
  return [
    ...[least, most, crowded].map((found) => ({
      name: `batches/s with ${found.accounts} accounts at rest`,
      value: found.batchesPerSecond,
      ...(found === most ? { atMost: 2 } : {}),
      note: `${found.marksPerSecond} marks/s; ${ours.map((name) => `${name} ${found.percent[name] ?? '-'} %`).join(', ')}`,
    })),
    {
      name: `% of a core of all three for ${many.accounts} accounts at rest, beyond ${few.accounts}`,
      value: totalOf(most) - totalOf(least),
      atMost: 3,
    },
    {
      name: `% of a core of the service for ${crowd.accounts} accounts at rest, beyond ${few.accounts}`,
      value: serviceOf(crowded) - serviceOf(least),
      atMost: 3,
    },
  ];
}

function totalOf({ percent }: IdleFigures): number {
  return ours.reduce((sum, name) => sum + (percent[name] ?? 0), 0);
}

async function atRest(bench: Bench, { accounts, warmUpMs }: typeof few): Promise<IdleFigures> {
  const load = { openOrders: 2 * accounts, knownOrders: 4 * accounts, accounts };
  const { figures, before, after } = await withService(bench, { part: 'idle', load }, async (watched) => {
    await systemClock.sleep(warmUpMs);
    // One sample at each end: a scrape costs the service more than a second at rest does.
    return watchLoad(watched, { seconds, sampleEveryMs: seconds * 1000 });
  });
  const rateOf = (name: string, labels = {}) =>
    round((sumOf(after, name, labels) - sumOf(before, name, labels)) / figures.seconds);
  return {
    accounts,
    batchesPerSecond: rateOf('tidemark_batch_size_count'),
    marksPerSecond: rateOf('tidemark_publish_records_total', { topic: 'watermarks', result: 'acknowledged' }),
    percent: Object.fromEntries(
      figures.processes.map(({ name, cpuSeconds }) => [name, round((100 * cpuSeconds) / figures.seconds)]),
    ),
  };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
