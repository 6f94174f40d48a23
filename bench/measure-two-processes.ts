import type { Cleanup } from './cleanup.ts';
import { loadAt, settle } from './measure-service.ts';
import { shardedAccounts } from './measure-shards.ts';
import { sumOf } from './prometheus-text.ts';
import { type FleetProcess, untilLive } from './service-process.ts';
import type { Stack } from './stack.ts';
import type { LoadFigures, Watched } from './watch-load.ts';
import { withService } from './with-service.ts';

export interface TwoProcessesFigures {
  /**
   * Updates a second as fast as they take them: of one process
   * before the other came, and after it left.
   */
  readonly onePerSecond: readonly number[];
  /** Of both together. */
  readonly twoPerSecond: number;
  /** What each of the two published of it. */
  readonly shares: readonly number[];
  /** Processor time of the services an update, with one process and with two. */
  readonly oneMicros: readonly number[];
  readonly twoMicros: number;
}

const shards = 16;

/**
 * One process, then two with equal settings and half of the shards each, then one again,
 * on one database. Without audits: they begin in the minute in which the shards move,
 * and would be in some of the figures only.
 */
export async function measureTwoProcesses(
  cleanup: Cleanup,
  stack: Stack,
  { seconds }: { readonly seconds: number },
): Promise<TwoProcessesFigures> {
  const options = {
    part: 'two',
    shards,
    load: { accounts: shardedAccounts },
    env: { TIDEMARK_AUDIT_INTERVAL_MS: String(3_600_000) },
  };
  return withService(cleanup, stack, options, async (watched) => {
    // A service is still being compiled at first.
    await unpaced(watched, seconds / 2);
    const before = await unpaced(watched, seconds);
    const other = await watched.service.startAnother();
    const processes = [watched.service, other];
    await untilLive(processes, watched.sandbox, shards / 2);
    const both = { ...watched, other };
    await unpaced(both, seconds / 2);
    const first = await Promise.all(processes.map(published));
    const two = await unpaced(both, seconds);
    const counts = (await Promise.all(processes.map(published))).map((count, i) => count - (first[i] ?? 0));
    const sum = counts.reduce((total, count) => total + count, 0);
    // What it counted stays in the sums when it is gone.
    const last = await other.scrape();
    await other.child.stop();
    await untilLive([watched.service], watched.sandbox, shards);
    const after = await unpaced({ ...both, other: { child: other.child, scrape: async () => last } }, seconds);
    return {
      onePerSecond: [before.publishedPerSecond, after.publishedPerSecond],
      twoPerSecond: two.publishedPerSecond,
      shares: counts.map((count) => Math.round((100 * count) / sum) / 100),
      oneMicros: [microsOf(before), microsOf(after)],
      twoMicros: microsOf(two),
    };
  });
}

async function unpaced(watched: Watched, seconds: number): Promise<LoadFigures> {
  const figures = await loadAt(watched, 'max', seconds);
  await settle(watched);
  return figures;
}

async function published({ scrape }: FleetProcess): Promise<number> {
  return sumOf(await scrape(), 'tidemark_publish_records_total', { topic: 'updates', outcome: 'acknowledged' });
}

function microsOf({ processes }: LoadFigures): number {
  const services = processes.filter(({ name }) => name === 'service' || name === 'other');
  return Math.round(services.reduce((sum, { cpuMicrosPerUpdate }) => sum + cpuMicrosPerUpdate, 0));
}
