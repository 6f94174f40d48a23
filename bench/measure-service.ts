import { systemClock } from '../src/runtime/clock.ts';
import type { Bench, Figure } from './figure.ts';
import { searchRate } from './search-rate.ts';
import { logBytesPerUpdate } from './service-process.ts';
import { type LoadFigures, untilCaughtUp, type Watched, watchLoad } from './watch-load.ts';
import { withService } from './with-service.ts';

export const rateName = 'sustained, updates/s';
export const probeSeconds = 10;
const warmUpMs = 3_000;
/** Paced load costs more than unpaced: batches are smaller when nothing waits. */
const firstShare = 0.9;
const downBy = 0.93;
const maxSustainTries = 6;

/**
 * As much load as the sockets take, then the highest rate with a lag that is bounded and does not
 * grow: found with short probes from the unpaced rate down, then kept up for the whole time, and
 * lowered again where that fails.
 */
export async function measureService(bench: Bench): Promise<Figure[]> {
  return withService(bench, { part: 'service' }, async (watched) => {
    const unpaced = (await loadAt(watched, 'max', probeSeconds)).publishedPerSecond;
    await settle(watched);
    const sustained = await sustainedLoad(watched, unpaced, bench.seconds);
    const unpacedFigure = { name: 'unpaced, updates/s', value: unpaced };
    if (sustained === undefined) {
      return [unpacedFigure, { name: rateName, value: 0, note: 'no rate was kept up: the machine is busy' }];
    }
    const { publishedPerSecond, lag, seconds, elsewherePercent, processes, walBytesPerUpdate } = sustained;
    const lagSaid = `lag median ${lag.median}, highest ${lag.highest}, ${lag.growthPerSecond.toFixed(1)} a second`;
    const note = `for ${seconds} s, ${lagSaid}; everybody else ${elsewherePercent} % of a core`;
    return [
      unpacedFigure,
      { name: rateName, value: publishedPerSecond, note },
      { name: 'of its own unpaced rate', value: publishedPerSecond / unpaced, atLeast: 0.8 },
      ...costOf(sustained, 'sustained', { service: 45 }),
      ...memoryOf(processes),
      { name: 'kB of write-ahead log an update', value: walBytesPerUpdate / 1000, atMost: 2.2 },
      {
        name: 'kB on the disk an update in the log',
        value: (await logBytesPerUpdate(watched.service.databaseUrl)) / 1000,
        atMost: 1.5,
      },
    ];
  });
}

async function sustainedLoad(watched: Watched, unpaced: number, seconds: number): Promise<LoadFigures | undefined> {
  const probe = async (rate: number, forSeconds: number) => {
    const figures = await loadAt(watched, rate, forSeconds);
    await settle(watched);
    return { rate, bounded: isSustained(rate, figures), figures };
  };
  const short = { startRate: unpaced * firstShare, factor: downBy, maxProbes: 10 };
  const quick = await searchRate(short, (rate) => probe(rate, probeSeconds));
  if (quick.found === undefined) return undefined;
  const long = { startRate: quick.found.rate, factor: downBy, maxProbes: maxSustainTries };
  return (await searchRate(long, (rate) => probe(rate, seconds))).found?.figures;
}

/** Processor time an update of each process, and of all of them. */
export function costOf(
  { processes }: LoadFigures,
  when: string,
  most: { readonly service?: number; readonly all?: number } = {},
): Figure[] {
  const all = processes.reduce((sum, { cpuMicrosPerUpdate }) => sum + cpuMicrosPerUpdate, 0);
  const each = processes.map(({ name, cpuMicrosPerUpdate, cpuPercent }) => ({
    name: `us of ${name === 'service' ? 'the service' : name} an update, ${when}`,
    value: cpuMicrosPerUpdate,
    note: `${cpuPercent} % of a core`,
    ...(name === 'service' && most.service !== undefined ? { atMost: most.service } : {}),
  }));
  const bound = most.all === undefined ? {} : { atMost: most.all };
  return [...each, { name: `us of all processes an update, ${when}`, value: all, ...bound }];
}

function memoryOf(processes: LoadFigures['processes']): Figure[] {
  return processes
    .filter(({ name }) => name === 'service')
    .map(({ startRssMb, middleRssMb, endRssMb, peakRssMb }) => ({
      name: 'MB of the service at most',
      value: peakRssMb,
      atMost: 300,
      note: `${startRssMb}, ${middleRssMb}, ${endRssMb} at the start, in the middle, at the end`,
    }));
}

/** A rate that the load did not reach is no rate that was kept up, however small the lag. */
function isSustained(rate: number, figures: LoadFigures): boolean {
  return figures.lag.bounded && figures.publishedPerSecond >= rate * 0.98;
}

/** The rate, and the figures once it has run for a moment. Leaves it running. */
export async function loadAt(watched: Watched, rate: number | 'max', seconds: number): Promise<LoadFigures> {
  await watched.sandbox.setRate(rate);
  await systemClock.sleep(warmUpMs);
  return (await watchLoad(watched, { seconds, sampleEveryMs: 500 })).figures;
}

/** No load, and nothing left of the one before. */
export async function settle(watched: Watched): Promise<void> {
  await watched.sandbox.setRate(0);
  await untilCaughtUp(watched);
}
