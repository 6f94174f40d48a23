import type { Lease } from '../../runtime/lease.ts';
import { unlessAborted } from '../../runtime/waiting.ts';
import type { Fleet, HeldShard, ShardStore } from '../../store/fleet/shard-store.ts';
import type { Ingest } from '../orders/ingest.ts';
import type { HeldShards } from './held-shards.ts';

export interface ShardTakerDeps {
  readonly store: ShardStore;
  readonly lease: Pick<Lease, 'lane' | 'epoch'>;
  readonly held: HeldShards;
  readonly ingest: Pick<Ingest, 'fence'>;
  readonly lossCheck: {
    /**
     * Rejects when Kafka has a checkpoint of commits the database lacks: it came back without its
     * newest commits, perhaps a shard's last holder's, and only the holder could know them.
     * Resolves also when Kafka can't be asked.
     */
    begin(): Promise<void>;
    /** For how long it could not be asked; undefined: it could. */
    readonly failingForMs: number | undefined;
  };
}

/**
 * Takes shards in the database, and finds out whether they are ours to work on
 * (docs/decisions/036-a-fleet-of-lanes-and-shards.md).
 */
export class ShardTaker {
  private readonly deps: ShardTakerDeps;
  private readonly expireAfterMs: number;

  /** `expireAfterMs`: a lane that was not renewed for so long has no live process. */
  constructor(deps: ShardTakerDeps, expireAfterMs: number) {
    this.deps = deps;
    this.expireAfterMs = expireAfterMs;
  }

  /**
   * While Kafka can't be asked, a shard may be free only because the database came back without its
   * taking, and without its holder's publications. If the holder lives, it notices, and begins a
   * generation before it would lose its lane. Until then no free shard is worked on.
   */
  get mustWait(): boolean {
    const { failingForMs } = this.deps.lossCheck;
    return failingForMs !== undefined && failingForMs < this.expireAfterMs;
  }

  /**
   * Gives back those now ours, to work on. Rejects when the database can't be reached, or has lost
   * commits.
   */
  async take(seen: Fleet['assignments'], over: AbortSignal): Promise<readonly HeldShard[]> {
    const { store, lease, held } = this.deps;
    const notHeld = seen.filter(({ shard }) => !held.has(shard));
    const taken = (await store.take(lease.lane, lease.epoch, notHeld)) ?? [];
    return taken.length === 0 || over.aborted ? [] : this.confirm(taken, seen, over);
  }

  private async confirm(
    taken: readonly HeldShard[],
    seen: Fleet['assignments'],
    over: AbortSignal,
  ): Promise<readonly HeldShard[]> {
    const { store, lease, ingest, lossCheck } = this.deps;
    // A database without the taking may have given them to another process. If it was before the
    // fence's batch, the look shows it. If it was after, this batch is lost as well, and no later
    // one is taken from us.
    await Promise.all([lossCheck.begin(), unlessAborted(ingest.fence(), over)]);
    if (this.mustWait) {
      await this.putBack(seen, taken);
      return [];
    }
    const { assignments } = await store.look(this.expireAfterMs);
    if (over.aborted) return [];
    return taken.filter(({ shard, epoch }) =>
      assignments.some(
        (assignment) => assignment.shard === shard && assignment.epoch === epoch && assignment.lane === lease.lane,
      ),
    );
  }

  /**
   * Frees what was free before, for a process able to ask Kafka. The rest stays in this lane's row,
   * and is taken up when the wait is over: this lane may have commits missing on Kafka, or an
   * operator wants it to stay.
   */
  private async putBack(seen: Fleet['assignments'], taken: readonly HeldShard[]): Promise<void> {
    const { store, lease } = this.deps;
    const wereFree = new Set(
      seen.filter(({ lane, pinned }) => lane === undefined && !pinned).map(({ shard }) => shard),
    );
    for (const each of taken) if (wereFree.has(each.shard)) await store.free(lease.lane, lease.epoch, each);
  }
}
