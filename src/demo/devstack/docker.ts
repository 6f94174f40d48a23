import type { ContainerRuntimeClient, GenericContainer } from 'testcontainers';
import type { Ambient } from '../../observability/ambient.ts';
import { withDeadline } from '../../runtime/waiting.ts';

/**
 * Whether a container engine answers, found as testcontainers finds it: DOCKER_HOST, the usual
 * sockets, the rootless ones. Without an engine it takes 0.3 s, nearly all for loading
 * testcontainers. False, too, if only the production dependencies are installed. testcontainers is
 * not an optional dependency: npm may run on Node 20, and would then leave it out without a word.
 */
export async function dockerAnswers(deps: Pick<Ambient, 'clock' | 'log'>): Promise<boolean> {
  try {
    const { getContainerRuntimeClient } = await import('testcontainers');
    await withDeadline(deps.clock, 10_000, 'asking for a Docker engine', getContainerRuntimeClient());
    return true;
  } catch (error) {
    deps.log.debug({ err: error }, 'no Docker engine answers');
    return false;
  }
}

/**
 * A container from `image`, with ports published on one address of this machine: testcontainers by
 * itself publishes them on every interface. `host` is that address. If the engine runs on another
 * machine we could not connect to its loopback address, so the ports stay as they are.
 */
export async function loopbackContainer(image: string): Promise<{ container: GenericContainer; host: string }> {
  const testcontainers = await import('testcontainers');
  const client = await testcontainers.getContainerRuntimeClient();
  const address = await localAddress(client);
  class LoopbackContainer extends testcontainers.GenericContainer {
    protected override async beforeContainerCreated(): Promise<void> {
      await super.beforeContainerCreated?.();
      if (address === undefined) return;
      const bindings: Record<string, { HostIp?: string; HostPort?: string }[]> = this.hostConfig.PortBindings ?? {};
      for (const binding of Object.values(bindings).flat()) binding.HostIp = address;
    }
  }
  return { container: new LoopbackContainer(image), host: address ?? client.info.containerRuntime.host };
}

/**
 * We reach the engine's published ports by this address, and no other machine does: loopback, or,
 * if we run in a container beside those that we start, the engine's end of its bridge. Undefined
 * for an engine on another machine.
 */
async function localAddress(client: ContainerRuntimeClient): Promise<string | undefined> {
  const { host } = client.info.containerRuntime;
  // Not `localhost`: on many machines it is ::1 first, and nothing is published there.
  if (['localhost', '127.0.0.1'].includes(host)) return '127.0.0.1';
  const bridge = await client.container.dockerode.getNetwork('bridge').inspect();
  const gateways = bridge.IPAM?.Config?.map(({ Gateway }) => Gateway) ?? [];
  return gateways.includes(host) ? host : undefined;
}
