import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import { withDeadline } from '../runtime/deadline.ts';

/**
 * Whether a container engine answers, found as testcontainers finds it: DOCKER_HOST, the usual sockets, the rootless ones. 0.3 s where
 * there is none, nearly all of it the loading of testcontainers. False, too, where only the production dependencies are installed.
 */
export async function dockerAnswers(deps: { readonly clock: Clock; readonly log: Log }): Promise<boolean> {
  try {
    const { getContainerRuntimeClient } = await import('testcontainers');
    await withDeadline(deps.clock, 10_000, 'asking for a Docker engine', getContainerRuntimeClient());
    return true;
  } catch (error) {
    deps.log.debug({ err: error }, 'no Docker engine answers');
    return false;
  }
}
