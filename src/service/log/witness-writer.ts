import type { Ambient } from '../../observability/ambient.ts';
import { encodeWitnessed, type Lease, type Witnessed } from '../../runtime/lease.ts';
import { PublishError, type Publisher } from './publisher.ts';

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
 * Invariant: no batch's record, and no command's step, is sent before Kafka has a witness for it.
 * So the witness is never behind the topics, whichever lane wrote last in them. It only ever names
 * committed batches: one that is ahead of the topics is a proof as well.
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
    const { lease, mayWrite } = this.deps;
    const { lane, witness } = lease;
    if (!mayWrite())
      throw new PublishError('unavailable', 'Kafka could not be asked yet for the newest commits of the lanes');
    if (batch !== undefined) witness.sawBatch(batch);
    const { changes } = witness;
    const isCovered = () =>
      this.written !== undefined &&
      (this.written.changes >= changes ||
        (batch !== undefined && this.isOfTerm() && this.written.witnessed.batch >= batch));
    this.termBegan = undefined;
    while (!isCovered() && lease.lane === lane && witness.newest !== undefined) {
      try {
        await (this.writing ?? this.write());
      } catch (error) {
        if (!(error instanceof PublishError) || !withoutTopic.has(error.code)) throw error;
        this.say(error);
        return;
      }
    }
  }

  private isOfTerm(): boolean {
    return this.written?.witnessed.generation === this.deps.lease.witness.newest?.generation;
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
    await publisher.publish([{ topic: 'witness', key: String(lane), payload: encodeWitness(lane, newest) }]);
    if (changes > (this.written?.changes ?? -1)) this.written = { changes, witnessed: newest };
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

export function encodeWitness(lane: number, witnessed: Witnessed): string {
  return `{"schema":"${witnessSchema}","lane":${lane},${encodeWitnessed(witnessed).slice(1)}`;
}

/** A lane, and the newest commits that its process had seen. */
export type LaneWitness = Witnessed & { readonly lane: number };

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

/** Both are facts about one lane. A later record may be an older one that was late. */
export function mergeWitness(known: LaneWitness | undefined, later: LaneWitness): LaneWitness {
  if (known === undefined || later.generation > known.generation) return later;
  if (later.generation < known.generation) return known;
  const highest = (a: bigint, b: bigint) => (a > b ? a : b);
  return { ...known, ...later, epoch: highest(known.epoch, later.epoch), batch: highest(known.batch, later.batch) };
}
