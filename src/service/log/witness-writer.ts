import type { Ambient } from '../../observability/ambient.ts';
import { encodeWitnessed, type Lease, type Witnessed } from '../../runtime/lease.ts';
import { PublishError, type Publisher, type PublishRow, type SentAlong } from './publisher.ts';

interface WitnessWriterDeps extends Pick<Ambient, 'clock' | 'log'> {
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

/** Kafka says so if a topic is not there, or this user may not write to it. */
const withoutTopic: ReadonlySet<string> = new Set(['unauthorized', 'unknown_topic', 'wrong_partitions']);
const sayEveryMs = 60_000;

/**
 * Keeps this process's view of its lane's commits on Kafka, beyond its own life
 * (docs/decisions/013-what-proves-that-commits-were-lost.md). If it dies, and the database comes
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
  private sayAtMs = Number.NEGATIVE_INFINITY;
  private termBegan: bigint | undefined;
  private readonly deps: WitnessWriterDeps;

  constructor(deps: WitnessWriterDeps) {
    this.deps = deps;
  }

  /** A term begins behind this batch. What Kafka has is not known. */
  begin(batch?: bigint): void {
    this.written = undefined;
    this.termBegan = batch;
  }

  /** The term is over. */
  end(): void {
    this.termBegan = undefined;
  }

  /**
   * Nothing was published in this term, which began behind this batch. Undefined: something may
   * have been, or there is no term.
   */
  get unpublishedAfter(): bigint | undefined {
    return this.termBegan;
  }

  /** Begins to write new commits, for a `cover` that will come soon. Never waits, never rejects. */
  hurry(): void {
    if (this.writing === undefined && this.deps.mayWrite()) void this.write().catch(() => undefined);
  }

  /**
   * Resolves once Kafka has a witness for this batch of the lane; left out: for all that this
   * process has seen by now. Rejects with `PublishError`: then nothing may be published. If the
   * topic is missing it resolves, and says so: a loss that hides is better than a service that
   * stands.
   */
  async cover(batch?: bigint): Promise<void> {
    const { lease } = this.deps;
    const { lane, witness } = lease;
    const { changes } = this.toPublish(batch);
    while (!this.covers(changes, batch) && lease.lane === lane && witness.newest !== undefined) {
      try {
        await (this.writing ?? this.write());
      } catch (error) {
        if (!(error instanceof PublishError) || !withoutTopic.has(error.code)) throw error;
        this.say(error);
        return;
      }
    }
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

  /** A send failed: the next one's witness has to be on Kafka first. */
  doubt(): void {
    this.written = undefined;
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
    const { mayWrite, lease } = this.deps;
    if (!mayWrite())
      throw new PublishError('unavailable', 'Kafka could not be asked yet for the newest commits of the lanes');
    if (batch !== undefined) lease.witness.sawBatch(batch);
    this.termBegan = undefined;
    const { changes, newest } = lease.witness;
    return { changes, newest };
  }

  private write(): Promise<void> {
    this.writing = this.writeNewest().finally(() => {
      this.writing = undefined;
    });
    return this.writing;
  }

  private async writeNewest(): Promise<void> {
    const { lease, publisher } = this.deps;
    const { lane, witness } = lease;
    const { changes, newest } = witness;
    if (newest === undefined || changes === this.written?.changes) return;
    await publisher.publish([rowOf({ ...newest, lane, changes })]);
    this.wrote(lane, changes, newest);
  }

  private wrote(lane: number, changes: number, witnessed: Witnessed): void {
    if (this.deps.lease.lane === lane && changes > (this.written?.changes ?? -1)) this.written = { changes, witnessed };
  }

  private say(err: PublishError): void {
    const { clock, log } = this.deps;
    if (clock.monotonicMs() < this.sayAtMs) return;
    this.sayAtMs = clock.monotonicMs() + sayEveryMs;
    log.error(
      { err },
      "the topic of the lanes' witnesses can't be written: a loss of commits may stay unseen. Run `tidemark topics apply`, and grant Write on it",
    );
  }
}

/**
 * A lane, and the newest commits its process had seen. `changes`: of two from one term, the one
 * with more says everything. Left out: an earlier version wrote it.
 */
export type LaneWitness = Witnessed & { readonly lane: number; readonly changes?: number };

function rowOf(witness: LaneWitness): PublishRow {
  return { topic: 'witness', key: String(witness.lane), payload: encodeWitness(witness) };
}

export function encodeWitness({ lane, ...witnessed }: LaneWitness): string {
  return `{"schema":"${witnessSchema}","lane":${lane},${encodeWitnessed(witnessed).slice(1)}`;
}

/** Undefined: it is no witness of ours. */
export function decodeWitness(value: string): LaneWitness | undefined {
  if (!value.startsWith(`{"schema":"${witnessSchema}",`)) return undefined;
  try {
    const { schema: _, epoch, batch, ...rest } = JSON.parse(value);
    return { ...rest, epoch: BigInt(epoch), batch: BigInt(batch) };
  } catch {
    return undefined;
  }
}

/**
 * Both are facts about one lane. A later record may be an older one: it was late, or it is from
 * another partition.
 */
export function mergeWitness(known: LaneWitness | undefined, later: LaneWitness): LaneWitness {
  if (known === undefined || later.generation > known.generation) return later;
  if (later.generation < known.generation) return known;
  const isOlder =
    later.epoch < known.epoch || (later.epoch === known.epoch && (later.changes ?? 0) < (known.changes ?? 0));
  const facts = isOlder ? { ...later, ...known } : { ...known, ...later };
  return { ...facts, epoch: highest(known.epoch, later.epoch), batch: highest(known.batch, later.batch) };
}

export function highest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
