import { shardOf } from '../../../src/domain/partition.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { atEnd } from '../commands/at-end.ts';
import type { RunningService } from '../runs/service-under-test.ts';
import { silentLog } from '../runs/silent-log.ts';

interface Taken {
  readonly accounts: readonly string[];
  /** Monotonic. */
  readonly atMs: number;
}

/**
 * Which process has each account by the rows of the database, from the taking on:
 * long before its status says that it serves the account, and also while it
 * publishes what a dead process left of it.
 */
export class TakenAccounts {
  private readonly pool: ReturnType<typeof createPool>;
  private readonly accounts: readonly string[];
  private readonly instances = new Map<RunningService, string>();

  constructor(databaseUrl: string, accounts: readonly string[]) {
    this.accounts = accounts;
    this.pool = createPool(
      { log: silentLog },
      { url: databaseUrl, applicationName: 'tidemark-test', maxConnections: 1, statementMs: 10_000 },
    );
    atEnd(() => this.pool.end());
  }

  /** By service. One that has not had a lane yet has none. */
  async read(services: readonly RunningService[]): Promise<ReadonlyMap<RunningService, Taken>> {
    const atMs = systemClock.monotonicMs();
    const { rows } = await this.pool.query<{ instance: string | null }>(
      `select split_part(l.holder, '/', 1) as instance from shards s left join lanes l on l.lane = s.lane order by s.shard`,
    );
    const holderOf = (accountId: string) => rows[shardOf(accountId, rows.length)]?.instance;
    return new Map(
      services.map((service) => {
        const instance = this.instanceOf(service);
        return [
          service,
          {
            atMs,
            accounts: this.accounts.filter((account) => instance !== undefined && holderOf(account) === instance),
          },
        ];
      }),
    );
  }

  /** By its log, which says so before it takes its first shard. */
  private instanceOf(service: RunningService): string | undefined {
    const known = this.instances.get(service);
    if (known !== undefined) return known;
    const line = service.process.lines.find((each) => each.includes('"msg":"the lane is ours"'));
    const instance = line === undefined ? undefined : /"holder":"([^"/]+)/.exec(line)?.[1];
    if (instance !== undefined) this.instances.set(service, instance);
    return instance;
  }
}
