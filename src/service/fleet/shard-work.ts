import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { HeldShard } from '../../store/fleet/shard-store.ts';
import type { Ingest } from '../orders/ingest.ts';
import type { HeldShards } from './held-shards.ts';

export interface ShardWorkDeps {
  readonly held: HeldShards;
  /** Follows the accounts of the held shards, and no others, from the next `review` on. */
  readonly sources: { review(): void };
  readonly ingest: Pick<Ingest, 'forgetOrders'>;
  /** Takes a shard's commands. Left out if only the data path runs. */
  readonly commands?: ShardCommands;
  /**
   * Begins a generation if the database lacks something this process has seen. Rejects when it
   * can't be asked. Left out: nothing begins.
   */
  readonly noticeLost?: () => Promise<void>;
  readonly metrics: Pick<Metrics['ingest'], 'shardsHeld' | 'shardMoves'>;
  readonly log: Logger;
}

interface ShardCommands {
  /** Rejects when the journal can't be read. */
  begin(shard: HeldShard): Promise<void>;
  /**
   * From now on the shard's commands are declined. Resolves when none of it is in hand any more, or
   * the signal aborts.
   */
  quiesce(shard: number, signal: AbortSignal): Promise<void>;
  end(shard: number): void | Promise<void>;
}

/** What this process does for its shards: it follows their accounts, and takes their commands. */
export class ShardWork {
  /** Held shards that take no commands yet: their journal could not be read. */
  private readonly waiting = new Map<number, HeldShard>();
  private readonly deps: ShardWorkDeps;

  constructor(deps: ShardWorkDeps) {
    this.deps = deps;
  }

  /**
   * A term begins with these shards. `count`: how many there are in all. Nothing works on them yet.
   */
  resume(count: number, shards: readonly HeldShard[]): void {
    const { held } = this.deps;
    held.count = count;
    held.clear();
    this.waiting.clear();
    this.hold(shards);
  }

  /**
   * They are this process's from now on. Rejects when the journal of one can't be read: then it
   * waits for the next `beginCommands`.
   */
  async add(shards: readonly HeldShard[]): Promise<void> {
    const { sources, metrics, log } = this.deps;
    this.hold(shards);
    metrics.shardMoves.inc({ move: 'taken' }, shards.length);
    log.info({ shards: shards.map(({ shard }) => shard) }, 'shards taken: their accounts are followed');
    sources.review();
    await this.beginCommands();
  }

  /**
   * One shard after the other. Rejects when one journal can't be read. Mostly the database is away,
   * so the others are not tried then; next time they come before it.
   *
   * A taking that the database lost is made again with its sweep, and a sweep's step may be on
   * Kafka. So the process compares what it has seen before it makes the step again: the versions of
   * its commands would hide the loss.
   */
  async beginCommands(): Promise<void> {
    if (this.waiting.size > 0) await this.deps.noticeLost?.();
    for (const shard of [...this.waiting.values()]) {
      const isWaiting = () => this.waiting.get(shard.shard) === shard;
      try {
        if (isWaiting()) await this.deps.commands?.begin(shard);
        if (isWaiting()) this.waiting.delete(shard.shard);
      } catch (error) {
        if (isWaiting() && this.waiting.delete(shard.shard)) this.waiting.set(shard.shard, shard);
        throw error;
      }
    }
  }

  /**
   * Leaves the shard in order: its commands end, and its accounts are not followed any more. What
   * ingest has of it is still to be committed.
   */
  async leave(shard: number, signal: AbortSignal): Promise<void> {
    const { held, sources, commands } = this.deps;
    this.waiting.delete(shard);
    await commands?.quiesce(shard, signal);
    await commands?.end(shard);
    held.leave(shard);
    sources.review();
    held.drop(shard);
    this.waiting.delete(shard);
  }

  /** The shard has another holder, or another epoch: leaves it at once. */
  async lose(shard: number): Promise<void> {
    const { held, sources, commands, metrics, log } = this.deps;
    metrics.shardMoves.inc({ move: 'lost' });
    log.error({ shard }, 'a shard of this lane was taken by another process, or once more by this one; it is left');
    held.drop(shard);
    this.waiting.delete(shard);
    sources.review();
    await commands?.end(shard);
  }

  /** The term ends: no shard is this process's any more. */
  async end(): Promise<void> {
    const { held, commands, metrics } = this.deps;
    const { shards } = held;
    held.clear();
    metrics.shardsHeld.set(0);
    this.waiting.clear();
    await Promise.all(shards.map(async (shard) => commands?.end(shard)));
  }

  private hold(shards: readonly HeldShard[]): void {
    const { held, ingest } = this.deps;
    const taken = new Set<number | undefined>(shards.map(({ shard }) => shard));
    // Once for all of them: 50,000 orders in memory take 7 ms.
    if (taken.size > 0) ingest.forgetOrders((accountId) => taken.has(held.shardOf(accountId)));
    for (const shard of shards) {
      held.add(shard);
      this.waiting.set(shard.shard, shard);
    }
  }
}
