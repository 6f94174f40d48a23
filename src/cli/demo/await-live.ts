import type { CliIo } from '../io.ts';

const limitMs = 20_000;

/** Waits until every account that the service follows is live: before that it would decline to place. Gives up in silence; the answer then says why. */
export async function awaitLive(io: Pick<CliIo, 'fetch' | 'clock'>, adminAddress: string, signal: AbortSignal): Promise<void> {
  const deadline = io.clock.monotonicMs() + limitMs;
  while (!signal.aborted && io.clock.monotonicMs() < deadline) {
    const { accounts } = (await (await io.fetch(`${adminAddress}/status`)).json()) as { accounts?: { state: string }[] };
    const followed = (accounts ?? []).filter(({ state }) => state !== 'not_enrolled');
    if (followed.length > 0 && followed.every(({ state }) => state === 'live')) return;
    await io.clock.sleep(100, signal);
  }
}
