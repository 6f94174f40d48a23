import type { Ports } from '../state/ports.ts';

/** A network that changes is there again after a moment. */
const waitsMs = [250, 1_000, 3_000] as const;

/**
 * Loads a part of the page, and tries again where that fails: a browser ends all requests that are
 * under way when the network of its machine changes, as with a VPN or a container that starts.
 * Rejects with the fault of the last try.
 */
export async function loadAgain<T>({ after }: Pick<Ports, 'after'>, load: () => Promise<T>): Promise<T> {
  for (const ms of waitsMs) {
    try {
      return await load();
    } catch {
      await new Promise<void>((resolve) => void after(ms, resolve));
    }
  }
  return load();
}
