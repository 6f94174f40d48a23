import type { Clock, Timer } from '../../runtime/clock.ts';
import {
  type Act,
  type Checkpoint,
  encodeCheckpoints,
  type LaneCheckpoint,
  type Lease,
  lastActs,
} from '../../runtime/lease.ts';
import { SingleFlight } from '../../runtime/waiting.ts';
import { toPublishError } from './publish-sends.ts';
import { PublishError, type Publisher, type PublishRow, type SentAlong } from './publisher.ts';

interface CheckpointWriterDeps {
  readonly clock: Pick<Clock, 'after'>;
  readonly lease: Pick<Lease, 'lane' | 'checkpoint'>;
  /**
   * One of its own: it takes one send at a time, and a send of updates is mostly under way. The
   * creator closes it.
   */
  readonly publisher: Publisher;
  /**
   * False: Kafka has not been asked yet for this lane's checkpoint. Nothing may be published before
   * that.
   */
  readonly mayWrite: () => boolean;
}

/** How long a step waits for a send that takes its checkpoint along. */
const companyMs = 10;

const checkpointSchema = 'tidemark.commit-checkpoint.v1';

/**
 * Keeps this process's view of its lane's commits on Kafka, beyond its own life
 * (docs/decisions/103-what-was-acknowledged.md). If it dies, and the database comes back without
 * its last commits, the next process finds them here.
 *
 * Invariant: no batch's record, and no command's step, is sent unless Kafka has a checkpoint for it
 * or gets one in the same request. So the checkpoint is never behind the topics, whichever lane
 * wrote last in them. It only ever names committed batches: one that is ahead of the topics is a
 * proof as well.
 */
export class CheckpointWriter {
  private written: { readonly changes: number; readonly checkpointed: Checkpoint } | undefined;
  private readonly writing = new SingleFlight<void>();
  private company: Timer | undefined;
  private readonly deps: CheckpointWriterDeps;

  constructor(deps: CheckpointWriterDeps) {
    this.deps = deps;
  }

  /** A term begins, or a send failed: the next one's checkpoint has to be on Kafka first. */
  doubt(): void {
    this.written = undefined;
  }

  /**
   * Begins to write new commits, for a `cover` that will come soon. Never waits, never rejects. A
   * step behind an opening permits no write to the platform: unless a relay's send has taken it
   * along, it is written 10 ms later.
   */
  hurry(act?: Act): void {
    if (act?.[0] === 'step' && act[2] > 1) {
      this.company ??= this.deps.clock.after(companyMs, () => {
        this.company = undefined;
        this.hurry();
      });
    } else if (!this.writing.running && this.deps.mayWrite()) void this.write().catch(() => undefined);
  }

  /**
   * Resolves once Kafka has a checkpoint for this batch of the lane; left out: for all that this
   * process has seen by now. Rejects with `PublishError`: then nothing may be published.
   */
  async cover(batch?: bigint): Promise<void> {
    const { lane } = this.deps.lease;
    await this.untilCovered(lane, this.toPublish(batch).changes, batch);
  }

  /**
   * The checkpoint to be on Kafka with the updates up to this batch, or before them; left out: with
   * all that this process has seen. Sent before, it makes them wait for two answers. Undefined:
   * Kafka has it. Throws `PublishError`, as `cover` does.
   *
   * It goes along only while Kafka takes checkpoints: its refusal would refuse the rows as well.
   */
  along(batch?: bigint): SentAlong | undefined {
    const { lane } = this.deps.lease;
    const { changes, newest } = this.toPublish(batch);
    if (newest === undefined || this.covers(changes, batch)) return undefined;
    return {
      row: rowOf({ ...newest, lane, changes }),
      alone: this.written === undefined,
      before: () => this.untilCovered(lane, changes, batch),
      carried: () => this.wrote(lane, changes, newest),
    };
  }

  /**
   * Learns nothing of the batch: by now the lane may be another, or be held under another
   * generation.
   */
  private async untilCovered(lane: number, changes: number, batch: bigint | undefined): Promise<void> {
    const { lease } = this.deps;
    this.assertMayWrite();
    while (!this.covers(changes, batch) && lease.lane === lane && lease.checkpoint.newest !== undefined)
      await this.write();
  }

  /** Kafka has all that was seen at `changes`, or a checkpoint for the batch. */
  private covers(changes: number, batch: bigint | undefined): boolean {
    if (this.written === undefined) return false;
    const { checkpointed } = this.written;
    const ofTerm = checkpointed.generation === this.deps.lease.checkpoint.newest?.generation;
    return this.written.changes >= changes || (batch !== undefined && ofTerm && checkpointed.batch >= batch);
  }

  /** What has to be checkpointed before something is published. Throws where nothing may be yet. */
  private toPublish(batch: bigint | undefined): { readonly changes: number; readonly newest: Checkpoint | undefined } {
    const { lease } = this.deps;
    this.assertMayWrite();
    if (batch !== undefined) lease.checkpoint.sawBatch(batch);
    const { changes, newest } = lease.checkpoint;
    return { changes, newest };
  }

  private assertMayWrite(): void {
    if (!this.deps.mayWrite())
      throw new PublishError('unavailable', 'Kafka could not be asked yet for the newest commits of the lanes');
  }

  private write(): Promise<void> {
    return this.writing.run(() => this.writeNewest());
  }

  private async writeNewest(): Promise<void> {
    // Again, after a wait for another write.
    this.assertMayWrite();
    const { lease, publisher } = this.deps;
    const { lane, checkpoint } = lease;
    const { changes, newest } = checkpoint;
    if (newest === undefined || changes === this.written?.changes) return;
    await publisher.publish([rowOf({ ...newest, lane, changes })]).catch((err: unknown) => {
      throw withRemedy(err, 'Write');
    });
    this.wrote(lane, changes, newest);
  }

  private wrote(lane: number, changes: number, checkpointed: Checkpoint): void {
    if (this.deps.lease.lane === lane && changes > (this.written?.changes ?? -1))
      this.written = { changes, checkpointed };
  }
}

/** Where the topic of checkpoints is not there, or this user may not use it: says what to do. */
export function withRemedy(err: unknown, right: 'Read' | 'Write'): PublishError {
  const known = toPublishError(err);
  if (!['unauthorized', 'unknown_topic', 'wrong_partitions'].includes(known.code)) return known;
  const remedy = `nothing is published without the topic of checkpoints: run \`tidemark topics apply\`, and grant ${right} on it (docs/security.md)`;
  return new PublishError(known.code, `${known.message}: ${remedy}`, { cause: err });
}

function rowOf(checkpoint: LaneCheckpoint): PublishRow {
  const acts = checkpoint.acts.slice(-lastActs);
  return { topic: 'checkpoint', key: String(checkpoint.lane), payload: encodeCheckpoint({ ...checkpoint, acts }) };
}

export function encodeCheckpoint({ lane, ...checkpointed }: LaneCheckpoint): string {
  return `{"schema":"${checkpointSchema}","lane":${lane},${encodeCheckpoints(checkpointed).slice(1)}`;
}

/** Undefined: it is no checkpoint of ours. */
export function decodeCheckpoint(value: string): LaneCheckpoint | undefined {
  if (!value.startsWith(`{"schema":"${checkpointSchema}",`)) return undefined;
  try {
    const { schema: _, epoch, batch, acts = [], ...rest } = JSON.parse(value);
    return { ...rest, epoch: BigInt(epoch), batch: BigInt(batch), acts };
  } catch {
    return undefined;
  }
}

/**
 * The newer of two checkpoints of one lane, with the higher batch number. A later record may be the
 * older one: it was late, or it is from another partition. What a former holder saw is behind the
 * epoch of the next one, which has compared it.
 */
export function mergeCheckpoint(known: LaneCheckpoint | undefined, later: LaneCheckpoint): LaneCheckpoint {
  if (known === undefined || later.generation > known.generation) return later;
  if (later.generation < known.generation) return known;
  const isOlder =
    later.epoch < known.epoch || (later.epoch === known.epoch && (later.changes ?? 0) < (known.changes ?? 0));
  return { ...(isOlder ? known : later), batch: later.batch > known.batch ? later.batch : known.batch };
}
