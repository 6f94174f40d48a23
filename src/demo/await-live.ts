import type { CliIo } from '../cli/io/io.ts';

/**
 * Waits until every account that the service follows is live: before that it declines to place.
 * Gives up without a message at `deadlineMs` on the monotonic clock.
 */
export async function awaitLive(
  io: Pick<CliIo, 'fetch' | 'clock'>,
  adminAddress: string,
  deadlineMs: number,
  signal?: AbortSignal,
): Promise<void> {
  while (signal?.aborted !== true && io.clock.monotonicMs() < deadlineMs) {
    const { accounts } = (await (await io.fetch(`${adminAddress}/status`)).json()) as {
      accounts?: { state: string }[];
    };
    const followed = (accounts ?? []).filter(({ state }) => state !== 'not_enrolled');
    if (followed.length > 0 && followed.every(({ state }) => state === 'live')) return;
    await io.clock.sleep(100, ...(signal === undefined ? [] : [signal]));
  }
}
