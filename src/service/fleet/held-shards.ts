import type { IngestItem } from '../../domain/observation.ts';
import { shardOf } from '../../domain/partition.ts';
import type { HeldShard } from '../../store/fleet/shard-store.ts';
import type { ObservationSink } from '../sources/observation-sink.ts';

/**
 * This process's shards at work, and its ingest's guard: once a shard was dropped here, this
 * process commits nothing more about its accounts. Its next holder reads everything again.
 *
 * A shard's states: elsewhere → held → leaving (its accounts are not followed any more; their last
 * marks still pass) → elsewhere.
 */
export class HeldShards {
  private readonly held = new Map<number, HeldShard>();
  private readonly leaving = new Set<number>();
  /** Undefined: the database was not asked yet. */
  private total: number | undefined;

  /** How many shards there are in all. */
  set count(count: number) {
    this.total = count;
  }

  get size(): number {
    return this.held.size;
  }

  /** How much of all shards is held, from 0 to 1. */
  get part(): number {
    return this.total === undefined ? 0 : this.held.size / this.total;
  }

  /** Lowest first. */
  get shards(): readonly number[] {
    return [...this.held.keys()].sort((a, b) => a - b);
  }

  has(shard: number): boolean {
    return this.held.has(shard);
  }

  /** Undefined: it is not held. */
  get(shard: number): HeldShard | undefined {
    return this.held.get(shard);
  }

  add(shard: HeldShard): void {
    this.leaving.delete(shard.shard);
    this.held.set(shard.shard, shard);
  }

  leave(shard: number): void {
    if (this.held.delete(shard)) this.leaving.add(shard);
  }

  drop(shard: number): void {
    this.held.delete(shard);
    this.leaving.delete(shard);
  }

  clear(): void {
    this.held.clear();
    this.leaving.clear();
  }

  shardOf(accountId: string): number | undefined {
    return this.total === undefined ? undefined : shardOf(accountId, this.total);
  }

  /** This process follows the account. */
  follows(accountId: string): boolean {
    const shard = this.shardOf(accountId);
    return shard !== undefined && this.held.has(shard);
  }

  /**
   * Everything about orders comes through here: a read ending late must not bring in an order
   * another process holds by now.
   */
  guard(sink: ObservationSink): ObservationSink {
    const passes = (item: IngestItem) => this.passes(item);
    return {
      offer: (item) => {
        if (passes(item)) sink.offer(item);
      },
      get full() {
        return sink.full;
      },
      onRoom: (callback) => sink.onRoom(callback),
      committed: () => sink.committed(),
    };
  }

  /**
   * Heartbeats name the accounts followed when they are made; a message without an account belongs
   * to the connection.
   */
  private passes(item: IngestItem): boolean {
    const accountId = accountOf(item);
    if (accountId === undefined) return true;
    const shard = this.shardOf(accountId);
    return shard !== undefined && (this.held.has(shard) || this.leaving.has(shard));
  }
}

function accountOf(item: IngestItem): string | undefined {
  if (item.kind === 'order') return item.view.accountId;
  if (item.kind === 'unreadable') return item.accountId;
  return item.event === 'heartbeat' ? undefined : item.accountIds[0];
}
