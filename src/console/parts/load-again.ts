import type { Ports } from '../state/ports.ts';

/** A changed network is there again after a moment. */
const waitsMs = [250, 1_000, 3_000] as const;

/**
 * Loads a part of the page, and tries again after a failure: a browser ends all open requests when
 * its machine's network changes, as with a VPN or a starting container. Rejects with the last
 * fault.
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
