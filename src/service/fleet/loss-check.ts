import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { FoundLoss } from '../../store/fleet/lane-store.ts';

type Held = Pick<Lease, 'lane' | 'epoch'>;

export interface LossCheckDeps extends ClockAndLogger {
  /** This process's own lane. */
  readonly lease: Held;
  /**
   * Compares Kafka's checkpoints with the database, and begins a generation if it lacks commits of
   * one. Otherwise what this lane commits counts as published. Rejects when either can't be asked,
   * or the lane is lost.
   */
  readonly look: (lease: Held) => Promise<FoundLoss | undefined>;
  /** Keeps in the database that nothing of this lane is published from here on (`holdBack`). */
  readonly holdBack: (lease: Held) => Promise<void>;
  /** The new generation has begun, and every holder is fenced. */
  readonly onLoss: (loss: FoundLoss) => void;
}

/**
 * Kafka has a checkpoint of commits that the database lacks. The term can't begin: the lane has to
 * be taken under the new generation.
 */
export class CommitsLostError extends Error {
  readonly code = 'COMMITS_LOST';
  readonly retryable = true;
}

const lookAgainMs = 5_000;

/**
 * Checks at each term's start whether the database came back without commits that it had
 * acknowledged. A process started since then knows none (`CommitCheckpoint`). But Kafka has each
 * lane's newest checkpoint, ahead of all that it published (`CheckpointWriter`).
 *
 * Invariant: nothing commits in a term before this check, unless Kafka can't be asked. The lane
 * doesn't wait for Kafka then: the check is repeated until it succeeds, and nothing is published
 * before (`mayPublish`). A shard taken meanwhile does wait for a while (`ShardKeeper`).
 */
export class LossCheck {
  private over = new AbortController();
  private failingSinceMs: number | undefined;
  private asked = false;
  /** Counts the terms that ended: an answer to an earlier one says nothing of this one. */
  private ended = 0;
  private readonly deps: LossCheckDeps;

  constructor(deps: LossCheckDeps) {
    this.deps = deps;
  }

  /**
   * For how long Kafka, or the database, could not be asked;
   * undefined: they could, at the last try.
   */
  get failingForMs(): number | undefined {
    return this.failingSinceMs === undefined ? undefined : this.deps.clock.monotonicMs() - this.failingSinceMs;
  }

  /**
   * False: Kafka has not answered since the term began, or last took shards. So its part in the
   * lane is not known, and nothing may be published: it might repeat revisions with other content.
   */
  get mayPublish(): boolean {
    return this.asked;
  }

  /** Rejects with `CommitsLostError`, or when neither Kafka nor the database can be reached. */
  async begin(): Promise<void> {
    this.over.abort();
    this.over = new AbortController();
    const { ended } = this;
    let loss: FoundLoss | undefined;
    try {
      loss = await this.deps.look(this.deps.lease);
      if (ended === this.ended) {
        this.asked = true;
        this.failingSinceMs = undefined;
      }
    } catch (err) {
      if (ended !== this.ended) return;
      // Also in the middle of a term: the shards that it took then may be another's by what Kafka
      // has. First nothing is sent any more: a checkpoint above what is held back would be a loss.
      this.asked = false;
      this.failingSinceMs ??= this.deps.clock.monotonicMs();
      this.deps.log.warn(
        { err },
        'the checkpoints on Kafka could not be compared with the database, and nothing is published; trying again while the lane goes on',
      );
      const { signal } = this.over;
      await this.deps.holdBack(this.deps.lease).finally(() => void this.lookAgain(signal));
    }
    this.assertNone(loss);
  }

  /**
   * For a lane that another process had: the term goes on as it was, whatever the answer. Rejects
   * with `CommitsLostError`, or when Kafka can't be asked.
   */
  async ask(lease: Held): Promise<void> {
    const loss = await this.deps.look(lease).catch((cause: unknown) => {
      throw new Error('Kafka could not be asked for the newest commits', { cause });
    });
    this.assertNone(loss);
  }

  private assertNone(loss: FoundLoss | undefined): void {
    if (loss === undefined) return;
    this.deps.onLoss(loss);
    throw new CommitsLostError(
      `Kafka has a checkpoint of commits that the database lacks; generation ${loss.generation} has begun`,
    );
  }

  end(): void {
    this.over.abort();
    this.ended += 1;
    this.failingSinceMs = undefined;
    this.asked = false;
  }

  private async lookAgain(over: AbortSignal): Promise<void> {
    const { clock, log, lease, look, onLoss } = this.deps;
    for (let failed = false; ; ) {
      await clock.sleep(lookAgainMs, over);
      if (over.aborted) return;
      try {
        const loss = await look(lease);
        if (over.aborted) return;
        this.failingSinceMs = undefined;
        this.asked = loss === undefined;
        log.info({}, 'the checkpoints on Kafka were compared with the database');
        if (loss !== undefined) onLoss(loss);
        return;
      } catch (err) {
        if (!failed) log.warn({ err }, 'the checkpoints on Kafka could not be compared yet');
        failed = true;
      }
    }
  }
}
