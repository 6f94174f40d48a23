import type { GenericContainer } from 'testcontainers';

/**
 * A container of `image` whose ports are published on the loopback address only: testcontainers by itself publishes them on every
 * interface of the machine. `host` is where to find them. Where the engine runs on another machine that would leave nothing to connect to, and the ports stay as they are.
 */
export async function loopbackContainer(image: string): Promise<{ container: GenericContainer; host: string }> {
  const testcontainers = await import('testcontainers');
  const { info } = await testcontainers.getContainerRuntimeClient();
  const engineIsHere = ['localhost', '127.0.0.1'].includes(info.containerRuntime.host);
  // Not `localhost`, which is ::1 first on many machines, where nothing is published.
  const host = engineIsHere ? '127.0.0.1' : info.containerRuntime.host;
  class LoopbackContainer extends testcontainers.GenericContainer {
    protected override async beforeContainerCreated(): Promise<void> {
      await super.beforeContainerCreated?.();
      if (!engineIsHere) return;
      const bindings: Record<string, { HostIp?: string; HostPort?: string }[]> = this.hostConfig.PortBindings ?? {};
      for (const binding of Object.values(bindings).flat()) binding.HostIp = '127.0.0.1';
    }
  }
  return { container: new LoopbackContainer(image), host };
}
