import { systemClock } from '../src/runtime/clock.ts';
import { restingOrder, withCommands } from './commanding-service.ts';
import type { Bench, Figure } from './figure.ts';
import { loadAt, settle } from './measure-service.ts';
import { percentile } from './percentile.ts';
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

/** Milliseconds that were the service's own, of each place; and how many were not accepted. */
interface Placed {
  readonly ownMs: number[];
  notAccepted: number;
}

/**
 * Places at a steady rate, through a stopwatch in front of the platform: few of them with nothing
 * beside, then many (what a place costs), then as many while the stream runs. A place's own part is
 * the caller's time without the platform's: journal, two commits, two sockets, and the stopwatch.
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
    const quiet = await place({ perSecond: 10, seconds });
    let alone: Placed = { ownMs: [], notAccepted: 0 };
    const spent = await spentOn(watched, async () => {
      alone = await place({ perSecond: 100, seconds });
    });
    const places = 100 * seconds;
    await watched.sandbox.setRate(streamRate);
    await systemClock.sleep(3000);
    const load = loadAt(watched, streamRate, seconds);
    const beside = await place({ perSecond: 100, seconds });
    const { publishedPerSecond } = await load;
    await settle(watched);
    const note = `beside ${publishedPerSecond} updates/s`;
    return [
      ...ownFigures('10/s, nothing beside', quiet, { p50: 4, p99: 15 }),
      ...ownFigures('100/s, nothing beside', alone),
      { name: 'ms of processor a place, all processes', value: (spent.cpuSeconds * 1000) / places, atMost: 5 },
      { name: 'kB of write-ahead log a place', value: spent.walBytes / 1000 / places, atMost: 5 },
      ...ownFigures('100/s beside the stream', beside, { p50: 10, p99: 50 }, note),
      {
        name: 'places that were not accepted',
        value: quiet.notAccepted + alone.notAccepted + beside.notAccepted,
        atMost: 0,
      },
    ];
  });
}

function ownFigures(
  when: string,
  { ownMs }: Placed,
  most: { readonly p50?: number; readonly p99?: number } = {},
  note?: string,
): Figure[] {
  return ([0.5, 0.99] as const).map((q) => {
    const name = q === 0.5 ? 'p50' : 'p99';
    return {
      name: `ms ${name} of our own in a place at ${when}`,
      value: percentile(ownMs, q),
      ...(most[name] === undefined ? {} : { atMost: most[name] }),
      ...(note === undefined ? {} : { note }),
    };
  });
}

/** No two of its orders are equal, whatever round they belong to. */
function placerOf(rest: RestClient, { sandbox }: Watched, proxies: readonly TimingProxy[]) {
  const accounts = accountsOf(sandbox);
  let next = 0;
  return async (pace: Pace): Promise<Placed> => {
    const placed: Placed = { ownMs: [], notAccepted: 0 };
    await paced(pace, async (dueMs) => {
      const { path, body } = restingOrder(accounts, next++);
      const { status, text } = await rest.post(path, body);
      const totalMs = performance.now() - dueMs;
      const reference = status === 200 ? referenceOf(text) : undefined;
      const platformMs = proxies.map((proxy) => reference && proxy.answerMs(reference)).find(Number.isFinite);
      if (typeof platformMs === 'number') placed.ownMs.push(totalMs - platformMs);
      else placed.notAccepted += 1;
    });
    return placed;
  };
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
  const { outcome, attempts } = JSON.parse(text) as { outcome: string; attempts: readonly { attemptId: string }[] };
  return outcome === 'accepted' || outcome === 'applied' ? attempts.at(-1)?.attemptId : undefined;
}
