import { onTestFinished } from 'vitest';
import { startEmbeddedKafka } from '../../../src/demo/devstack/start-embedded-kafka.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { cacheDir } from '../../support/servers/cache-dir.ts';
import { proxyTo, through } from '../../support/servers/network.ts';
import { TcpProxy } from '../../support/servers/tcp-proxy.ts';

const peers = ['Postgres', 'Kafka', 'the platform'] as const;
export type Peer = (typeof peers)[number];

/**
 * What one process reaches its peers through. A frozen or killed process does not notice it; a cut
 * is that process's alone.
 */
export class ProcessNetwork {
  /** The settings that lead through it. */
  readonly env: Readonly<Record<string, string>>;
  private readonly proxies: Readonly<Record<Peer, readonly TcpProxy[]>>;

  constructor(env: Readonly<Record<string, string>>, proxies: Readonly<Record<Peer, readonly TcpProxy[]>>) {
    this.env = env;
    this.proxies = proxies;
  }

  /** From now on nothing arrives there, nor comes back, and nobody says so. */
  cut(peer: Peer): void {
    for (const proxy of this.proxies[peer]) proxy.behave({ kind: 'swallow' });
  }

  /** As on an ordinary day. Connections that lost bytes are reset. */
  pass(): void {
    for (const peer of peers) for (const proxy of this.proxies[peer]) proxy.behave({ kind: 'pass' });
  }

  /**
   * Answers take their time: a kill or a freeze falls between a commit, or an acknowledgement, that
   * is true, and its answer.
   */
  slow(): void {
    this.pass();
    for (const proxy of this.proxies.Postgres) proxy.behave({ kind: 'delay', ms: 15 }, 'toClient');
    for (const proxy of this.proxies.Kafka) proxy.behave({ kind: 'delay', ms: 60 }, 'toClient');
  }
}

/**
 * A broker of the test's own behind so many proxies, and what is made of
 * them. `brokers`: the broker without a proxy.
 */
export async function fleetNetworks(processes: number) {
  const kafkaProxies = await Promise.all(Array.from({ length: processes }, () => TcpProxy.start({ targetPort: 9 })));
  onTestFinished(async () => {
    for (const proxy of kafkaProxies) await proxy.stop();
  });
  const deps = { clock: systemClock, log: silentLog };
  const kafka = await startEmbeddedKafka(deps, { cacheDir, clientProxies: kafkaProxies.map(({ port }) => port) });
  onTestFinished(() => kafka.stop());
  for (const [slot, proxy] of kafkaProxies.entries()) proxy.retarget(kafka.nodes[0]?.clientPorts[slot] ?? 0);
  const networksTo = (databaseUrl: string, sandbox: SandboxDescription) =>
    Promise.all(kafkaProxies.map((proxy) => processNetwork(proxy, databaseUrl, sandbox)));
  return { brokers: kafka.brokers, networksTo };
}

async function processNetwork(
  kafka: TcpProxy,
  databaseUrl: string,
  sandbox: SandboxDescription,
): Promise<ProcessNetwork> {
  const database = await proxyTo(databaseUrl);
  const [production, staging] = [await proxyTo(sandbox.platform), await proxyTo(sandbox.staging)];
  const env = {
    DATABASE_URL: through(database, databaseUrl),
    KAFKA_BROKERS: kafka.address,
    PLATFORM_URL: through(production, sandbox.platform),
    PLATFORM_STREAM_URL: through(production, sandbox.stream),
    PLATFORM_STAGING_URL: through(staging, sandbox.staging),
    PLATFORM_STAGING_STREAM_URL: through(staging, sandbox.stagingStream),
  };
  return new ProcessNetwork(env, { Postgres: [database], Kafka: [kafka], 'the platform': [production, staging] });
}
