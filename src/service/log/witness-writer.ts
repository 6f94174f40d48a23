import { encodeWitnessed, type LaneWitness, type Lease, lastActs, type Witnessed } from '../../runtime/lease.ts';
import { toPublishError } from './publish-sends.ts';
import { PublishError, type Publisher, type PublishRow, type SentAlong } from './publisher.ts';

interface WitnessWriterDeps {
  readonly lease: Pick<Lease, 'lane' | 'witness'>;
  /**
   * One of its own: it takes one send at a time, and a send of updates is mostly under way. The
   * creator closes it.
   */
  readonly publisher: Publisher;
  /**
   * False: Kafka has not been asked yet for this lane's witness. Nothing may be published before
   * that.
   */
  readonly mayWrite: () => boolean;
}

const witnessSchema = 'tidemark.lane-witness.v1';

/**
 * Keeps this process's view of its lane's commits on Kafka, beyond its own life
 * (docs/decisions/103-what-was-acknowledged.md). If it dies, and the database comes
 * back without its last commits, the next process finds them here.
 *
 * Invariant: no batch's record, and no command's step, is sent unless Kafka has a witness for it or
 * gets one in the same request. So the witness is never behind the topics, whichever lane
 * wrote last in them. It only ever names committed batches: one that is ahead of the topics is a
 * proof as well.
 */
export class WitnessWriter {
  private written: { readonly changes: number; readonly witnessed: Witnessed } | undefined;
  private writing: Promise<void> | undefined;
  private readonly deps: WitnessWriterDeps;

  constructor(deps: WitnessWriterDeps) {
    this.deps = deps;
  }

  /** A term begins, or a send failed: the next one's witness has to be on Kafka first. */
  doubt(): void {
    this.written = undefined;
  }

  /** Begins to write new commits, for a `cover` that will come soon. Never waits, never rejects. */
  hurry(): void {
    if (this.writing === undefined && this.deps.mayWrite()) void this.write().catch(() => undefined);
  }

  /**
   * Resolves once Kafka has a witness for this batch of the lane; left out: for all that this
   * process has seen by now. Rejects with `PublishError`: then nothing may be published.
   */
  async cover(batch?: bigint): Promise<void> {
    const { lease } = this.deps;
    const { lane, witness } = lease;
    const { changes } = this.toPublish(batch);
    while (!this.covers(changes, batch) && lease.lane === lane && witness.newest !== undefined)
      await (this.writing ?? this.write());
  }

  /**
   * The witness to be on Kafka with the updates up to this batch, or before them. Sent before, it
   * makes them wait for two answers. Undefined: Kafka has it. Throws `PublishError`, as `cover`
   * does.
   *
   * It goes along only while Kafka takes witnesses: its refusal would refuse the updates as well.
   */
  along(batch: bigint): SentAlong | undefined {
    const { lane } = this.deps.lease;
    const { changes, newest } = this.toPublish(batch);
    if (newest === undefined || this.covers(changes, batch)) return undefined;
    return {
      row: rowOf({ ...newest, lane, changes }),
      alone: this.written === undefined,
      before: () => this.cover(batch),
      carried: () => this.wrote(lane, changes, newest),
    };
  }

  /** Kafka has all that was seen at `changes`, or a witness for the batch. */
  private covers(changes: number, batch: bigint | undefined): boolean {
    if (this.written === undefined) return false;
    const { witnessed } = this.written;
    const ofTerm = witnessed.generation === this.deps.lease.witness.newest?.generation;
    return this.written.changes >= changes || (batch !== undefined && ofTerm && witnessed.batch >= batch);
  }

  /** What has to be witnessed before something is published. Throws where nothing may be yet. */
  private toPublish(batch: bigint | undefined): { readonly changes: number; readonly newest: Witnessed | undefined } {
    const { lease } = this.deps;
    this.assertMayWrite();
    if (batch !== undefined) lease.witness.sawBatch(batch);
    const { changes, newest } = lease.witness;
    return { changes, newest };
  }

  private assertMayWrite(): void {
    if (!this.deps.mayWrite())
      throw new PublishError('unavailable', 'Kafka could not be asked yet for the newest commits of the lanes');
  }

  private write(): Promise<void> {
    this.writing = this.writeNewest().finally(() => {
      this.writing = undefined;
    });
    return this.writing;
  }

  private async writeNewest(): Promise<void> {
    // Again, after a wait for another write.
    this.assertMayWrite();
    const { lease, publisher } = this.deps;
    const { lane, witness } = lease;
    const { changes, newest } = witness;
    if (newest === undefined || changes === this.written?.changes) return;
    await publisher.publish([rowOf({ ...newest, lane, changes })]).catch((err: unknown) => {
      throw withRemedy(err, 'Write');
    });
    this.wrote(lane, changes, newest);
  }

  private wrote(lane: number, changes: number, witnessed: Witnessed): void {
    if (this.deps.lease.lane === lane && changes > (this.written?.changes ?? -1)) this.written = { changes, witnessed };
  }
}

/** Where the topic of witnesses is not there, or this user may not use it: says what to do. */
export function withRemedy(err: unknown, right: 'Read' | 'Write'): PublishError {
  const known = toPublishError(err);
  if (!['unauthorized', 'unknown_topic', 'wrong_partitions'].includes(known.code)) return known;
  const remedy = `nothing is published without the topic of witnesses: run \`tidemark topics apply\`, and grant ${right} on it (docs/security.md)`;
  return new PublishError(known.code, `${known.message}: ${remedy}`, { cause: err });
}

function rowOf(witness: LaneWitness): PublishRow {
  const acts = witness.acts.slice(-lastActs);
  return { topic: 'witness', key: String(witness.lane), payload: encodeWitness({ ...witness, acts }) };
}

export function encodeWitness({ lane, ...witnessed }: LaneWitness): string {
  return `{"schema":"${witnessSchema}","lane":${lane},${encodeWitnessed(witnessed).slice(1)}`;
}

/** Undefined: it is no witness of ours. */
export function decodeWitness(value: string): LaneWitness | undefined {
  if (!value.startsWith(`{"schema":"${witnessSchema}",`)) return undefined;
  try {
    const { schema: _, epoch, batch, acts = [], ...rest } = JSON.parse(value);
    return { ...rest, epoch: BigInt(epoch), batch: BigInt(batch), acts };
  } catch {
    return undefined;
  }
}

/**
 * The newer of two witnesses of one lane, with the higher batch number. A later record may be the
 * older one: it was late, or it is from another partition. What a former holder saw is behind the
 * epoch of the next one, which has compared it.
 */
export function mergeWitness(known: LaneWitness | undefined, later: LaneWitness): LaneWitness {
  if (known === undefined || later.generation > known.generation) return later;
  if (later.generation < known.generation) return known;
  const isOlder =
    later.epoch < known.epoch || (later.epoch === known.epoch && (later.changes ?? 0) < (known.changes ?? 0));
  return { ...(isOlder ? known : later), batch: later.batch > known.batch ? later.batch : known.batch };
}
