import type { Cleanup } from './cleanup.ts';
import { type AloneFigures, costAt } from './measure-alone.ts';
import { type LatencyFigures, measureLatency } from './measure-latency.ts';
import { settle } from './measure-service.ts';
import type { Stack } from './stack.ts';
import { withService } from './with-service.ts';

export interface AccountsFigures {
  /** At the same rate with a few accounts, and with many. */
  readonly loaded: readonly {
    readonly accounts: string;
    readonly cost: AloneFigures;
    readonly latency: LatencyFigures;
  }[];
}

const rate = 5_000;

/** Many accounts under load, beside a few of them; at rest see `measureIdle`. */
export async function measureAccounts(
  cleanup: Cleanup,
  stack: Stack,
  { accounts, seconds }: { readonly accounts: number; readonly seconds: number },
): Promise<AccountsFigures> {
  const loaded: AccountsFigures['loaded'][number][] = [];
  for (const count of [undefined, accounts]) {
    const load = count === undefined ? {} : { accounts: count };
    const latency = await withService(cleanup, stack, { part: 'accounts', load }, async (watched) => {
      const found = await measureLatency(watched, rate, seconds);
      await settle(watched);
      return found;
    });
    loaded.push({ accounts: count === undefined ? 'a few' : String(count), cost: costAt(rate, latency.load), latency });
  }
  return { loaded };
}
