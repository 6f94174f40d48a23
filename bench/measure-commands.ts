import { systemClock } from '../src/runtime/clock.ts';
import { restingOrder, withCommands } from './commanding-service.ts';
import { type Bench, type Figure, rounded } from './figure.ts';
import { loadAt, settle } from './measure-service.ts';
import { percentile } from './percentile.ts';
import { type Sample, sumOf } from './prometheus-text.ts';
import type { RestClient } from './rest-client.ts';
import { accountsOf, type SandboxProcess } from './sandbox-process.ts';
import { startTimingProxy, type TimingProxy } from './timing-proxy.ts';
import { spentOn, type Watched } from './watch-load.ts';

const streamRate = 1000;
const mostSeconds = 30;
/** The first commands of a service that is still being compiled, which takes a core of its own. */
const warmUp = { perSecond: 100, seconds: 15 };

interface Pace {
  readonly perSecond: number;
  readonly seconds: number;
}

/** Milliseconds of each place, and how many were not accepted. */
interface Placed {
  readonly ownMs: readonly number[];
  readonly hopsMs: number;
  readonly notAccepted: number;
}

/**
 * Places at a steady rate, through a stopwatch in front of the platform: few of them with nothing
 * beside, then many (what a place costs), then as many while the stream runs. A place's own part is
 * the caller's time without the platform's: journal, two commits, two sockets. The hops between the
 * service and the stopwatch are taken off by their mean (`hopsOf`).
 */
export async function measureCommands(bench: Bench): Promise<Figure[]> {
  const seconds = Math.min(mostSeconds, bench.seconds);
  const proxies: TimingProxy[] = [];
  const behindProxies = async ({ description: { platform, staging } }: SandboxProcess) => {
    for (const url of [platform, staging]) proxies.push(await startTimingProxy(bench.cleanup, url));
    return { PLATFORM_URL: proxies[0]?.url ?? '', PLATFORM_STAGING_URL: proxies[1]?.url ?? '' };
  };
  return withCommands(bench, { part: 'commands', env: behindProxies }, async (rest, watched) => {
    const place = placerOf(rest, watched, proxies);
    await place(warmUp);
    const [quiet, quietCosts] = await costing(watched, place, { perSecond: 10, seconds });
    const [alone, costs] = await costing(watched, place, { perSecond: 100, seconds }, { cpu: 5, wal: 5 });
    await watched.sandbox.setRate(streamRate);
    await systemClock.sleep(3000);
    const load = loadAt(watched, streamRate, seconds);
    const beside = await place({ perSecond: 100, seconds });
    const { publishedPerSecond } = await load;
    await settle(watched);
    const note = `beside ${publishedPerSecond} updates/s`;
    return [
      ...ownFigures('10/s, nothing beside', quiet, { p50: 4, p99: 15 }),
      ...quietCosts,
      ...ownFigures('100/s, nothing beside', alone),
      ...costs,
      ...ownFigures('100/s beside the stream', beside, { p50: 10, p99: 50 }, note),
      {
        name: 'places that were not accepted',
        value: quiet.notAccepted + alone.notAccepted + beside.notAccepted,
        atMost: 0,
      },
    ];
  });
}

/** The places, and what each of them cost; its bounds are those of a place among many. */
async function costing(
  watched: Watched,
  place: (pace: Pace) => Promise<Placed>,
  pace: Pace,
  most: { readonly cpu?: number; readonly wal?: number } = {},
): Promise<[Placed, Figure[]]> {
  let placed: Placed = { ownMs: [], hopsMs: 0, notAccepted: 0 };
  const { cpuSeconds, walBytes } = await spentOn(watched, async () => {
    placed = await place(pace);
  });
  const places = pace.perSecond * pace.seconds;
  const when = `a place at ${pace.perSecond}/s`;
  const each = [...cpuSeconds].map(([name, seconds]) => ({ name, ms: (seconds * 1000) / places }));
  const all = each.reduce((sum, { ms }) => sum + ms, 0);
  const figures = [
    ...each.map(({ name, ms }) => ({ name: `ms of processor of ${name}, ${when}`, value: ms })),
    { name: `ms of processor of all processes, ${when}`, value: all, ...(most.cpu && { atMost: most.cpu }) },
    { name: `kB of write-ahead log, ${when}`, value: walBytes / 1000 / places, ...(most.wal && { atMost: most.wal }) },
  ];
  return [placed, figures];
}

function ownFigures(
  when: string,
  { ownMs, hopsMs }: Placed,
  most: { readonly p50?: number; readonly p99?: number } = {},
  beside?: string,
): Figure[] {
  const hops = `${rounded(hopsMs)} ms of hops taken off`;
  const note = beside === undefined ? hops : `${hops}, ${beside}`;
  return ([0.5, 0.99] as const).map((q) => {
    const name = q === 0.5 ? 'p50' : 'p99';
    return {
      name: `ms ${name} of our own in a place at ${when}`,
      value: percentile(ownMs, q),
      ...(most[name] === undefined ? {} : { atMost: most[name] }),
      note,
    };
  });
}

/** No two of its orders are equal, whatever round they belong to. */
function placerOf(rest: RestClient, { sandbox, service }: Watched, proxies: readonly TimingProxy[]) {
  const accounts = accountsOf(sandbox);
  let next = 0;
  return async (pace: Pace): Promise<Placed> => {
    const outsideMs: number[] = [];
    const platformMs: number[] = [];
    let notAccepted = 0;
    const before = await service.scrape();
    await paced(pace, async (dueMs) => {
      const { path, body } = restingOrder(accounts, next++);
      const { status, text } = await rest.post(path, body);
      const totalMs = performance.now() - dueMs;
      const reference = status === 200 ? referenceOf(text) : undefined;
      const tookMs = proxies.map((proxy) => reference && proxy.answerMs(reference)).find(Number.isFinite);
      if (typeof tookMs === 'number') {
        outsideMs.push(totalMs - tookMs);
        platformMs.push(tookMs);
      } else notAccepted += 1;
    });
    const hopsMs = hopsOf([before, await service.scrape()], platformMs);
    return { ownMs: outsideMs.map((ms) => ms - hopsMs), hopsMs, notAccepted };
  };
}

/**
 * The mean time that a request spent between the service and the stopwatch, there and back: by the
 * service's own histogram it took longer than by the stopwatch.
 */
export function hopsOf(
  [before, after]: readonly [before: readonly Sample[], after: readonly Sample[]],
  platformMs: readonly number[],
): number {
  const risen = (part: string) =>
    ['place_order', 'place_prediction_order'].reduce((sum, operation) => {
      const [from, to] = [before, after].map((samples) =>
        sumOf(samples, `tidemark_platform_request_seconds_${part}`, { operation, code_class: '2xx' }),
      );
      return sum + (to ?? 0) - (from ?? 0);
    }, 0);
  if (platformMs.length === 0 || risen('count') === 0) return 0;
  const mean = platformMs.reduce((sum, ms) => sum + ms, 0) / platformMs.length;
  return Math.max(0, (risen('sum') * 1000) / risen('count') - mean);
}

/**
 * Starts one piece of work after the other, whether the one before has ended or not: a slow answer
 * delays nobody's start, so that it cannot hide behind its own slowness. `dueMs` (of
 * `performance.now`) is when it had to start: what latency is counted from.
 */
async function paced({ perSecond, seconds }: Pace, work: (dueMs: number) => Promise<void>): Promise<void> {
  const startMs = performance.now();
  const running: Promise<void>[] = [];
  for (let index = 0; index < Math.round(perSecond * seconds); index += 1) {
    const dueMs = startMs + (index * 1000) / perSecond;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await systemClock.sleep(waitMs);
    running.push(work(dueMs));
  }
  await Promise.all(running);
}

/** The id of the attempt that was sent last: what the platform knows the order by. */
function referenceOf(text: string): string | undefined {
  const command = JSON.parse(text) as { result: string; outcome?: string; attempts: readonly { attemptId: string }[] };
  // Earlier builds call it its outcome.
  const { outcome, result = outcome, attempts } = command;
  return result === 'accepted' || result === 'applied' ? attempts.at(-1)?.attemptId : undefined;
}
