import { homedir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedKafka } from '../src/demo/devstack/start-embedded-kafka.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { TcpProxy } from '../test/support/servers/tcp-proxy.ts';
import type { Cleanup } from './cleanup.ts';
import { type LatencyFigures, measureLatency } from './measure-latency.ts';
import { loadAt, settle } from './measure-service.ts';
import { benchLog, type Stack } from './stack.ts';
import { withService } from './with-service.ts';

export interface DistanceFigures {
  /**
   * Added to each round trip to Postgres and to Kafka; timers end up to a millisecond later. 0: the
   * same proxies, without a delay.
   */
  readonly addedMs: number;
  readonly latency: LatencyFigures;
  readonly unpacedPerSecond: number;
}

const rate = 1_000;

/** The service with Postgres and Kafka far away, on one run of it: only the distance changes. */
export async function measureDistance(
  cleanup: Cleanup,
  stack: Stack,
  { addedMs, seconds }: { readonly addedMs: readonly number[]; readonly seconds: number },
): Promise<readonly DistanceFigures[]> {
  const [far, proxies] = await startFar(cleanup, stack);
  return withService(cleanup, far, { part: 'distance' }, async (watched) => {
    const figures: DistanceFigures[] = [];
    for (const ms of [0, ...addedMs]) {
      for (const proxy of proxies) proxy.behave(ms === 0 ? { kind: 'pass' } : { kind: 'delay', ms }, 'toTarget');
      const latency = await measureLatency(watched, rate, seconds);
      const { publishedPerSecond } = await loadAt(watched, 'max', seconds);
      await settle(watched);
      figures.push({ addedMs: ms, latency, unpacedPerSecond: publishedPerSecond });
    }
    return figures;
  });
}

/**
 * The same Postgres and a Kafka of its own, which names the proxy as its
 * address; both have to be on this machine.
 */
async function startFar(cleanup: Cleanup, stack: Stack): Promise<readonly [Stack, readonly TcpProxy[]]> {
  const toPostgres = await TcpProxy.start({ targetPort: Number(new URL(stack.postgres.url).port) });
  cleanup.add(() => toPostgres.stop());
  const toKafka = await TcpProxy.start({ targetPort: 0 });
  cleanup.add(() => toKafka.stop());
  const cacheDir = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'tidemark');
  const kafka = await startEmbeddedKafka(
    { clock: systemClock, log: benchLog },
    { cacheDir, advertisedPorts: [toKafka.port] },
  );
  cleanup.add(() => kafka.stop());
  toKafka.retarget(kafka.nodes[0]?.port ?? 0);
  const makeDatabase: Stack['makeDatabase'] = async (part) => {
    const { url, drop } = await stack.makeDatabase(part);
    const far = new URL(url);
    far.host = toPostgres.address;
    return { url: far.href, drop };
  };
  return [
    { postgres: stack.postgres, kafka: { ...kafka, brokers: [toKafka.address] }, makeDatabase },
    [toPostgres, toKafka],
  ];
}
