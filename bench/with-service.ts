import type { Bench } from './figure.ts';
import { type SandboxLoad, startSandboxProcess } from './sandbox-process.ts';
import { type ServiceOptions, startServiceProcess } from './service-process.ts';
import type { Watched } from './watch-load.ts';

/** Orders that the market moves at a time; each change is one of a random one of them. */
export const openOrders = 1000;

/**
 * A platform, a database, topics and a service of its own for each
 * part: none pays for the history of another.
 */
export async function withService<T>(
  bench: Bench,
  options: ServiceOptions & { readonly load?: Partial<SandboxLoad> },
  work: (watched: Watched) => Promise<T>,
): Promise<T> {
  const { cleanup, stack } = bench;
  const sandbox = await startSandboxProcess(cleanup, { openOrders, knownOrders: openOrders, ...options.load });
  const service = await startServiceProcess(bench, sandbox, options);
  const result = await work({ stack, sandbox, service });
  await service.stop();
  await sandbox.stop();
  return result;
}
