import { onTestFinished } from 'vitest';
import { startEmbeddedKafka } from '../../../src/demo/devstack/start-embedded-kafka.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { silentLog } from '../runs/silent-log.ts';
import { cacheDir } from './cache-dir.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** A network between a client and a port of this machine, gone with the test. */
export async function proxyTo(address: string): Promise<TcpProxy> {
  const proxy = await TcpProxy.start({ targetPort: Number(new URL(address).port) });
  onTestFinished(() => proxy.stop());
  return proxy;
}

/** The same address by way of the proxy. */
export function through(proxy: TcpProxy, address: string): string {
  const url = new URL(address);
  url.host = proxy.address;
  return url.href.replace(/\/$/, '');
}

/**
 * A broker of the test's own that nobody can reach but through the
 * proxy: it tells its clients the proxy's port.
 */
export async function kafkaBehindProxy(): Promise<TcpProxy> {
  const proxy = await TcpProxy.start({ targetPort: 9 });
  onTestFinished(() => proxy.stop());
  const deps = { clock: systemClock, log: silentLog };
  const kafka = await startEmbeddedKafka(deps, { cacheDir, advertisedPorts: [proxy.port] });
  onTestFinished(() => kafka.stop());
  proxy.retarget(kafka.nodes[0]?.port ?? 0);
  return proxy;
}
