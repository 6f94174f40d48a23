import type { LogRow } from '../../../src/domain/committed-batch.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { LaneCheckpoint } from '../../../src/runtime/lease.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { decodeCheckpoint, mergeCheckpoint } from '../../../src/service/log/checkpoint-writer.ts';
import {
  PublishError,
  type Publisher,
  type PublishRow,
  type SentAlong,
  type StatePublisher,
} from '../../../src/service/log/publisher.ts';
import type { Host } from '../host.ts';

/** How often each thing goes wrong, as a probability a call. */
export interface BrokerFaults {
  /** Nothing arrives, and the sender learns it. */
  readonly refused: number;
  /** All of it arrives, the answer does not. */
  readonly lostAnswer: number;
  /** Each partition takes the rows up to some point. */
  readonly torn: number;
  /** The sender gives up waiting; all of it arrives later, behind what was sent since. */
  readonly late: number;
  /** A call takes this many milliseconds at most. */
  readonly slowMs: number;
}

export const noBrokerFaults: BrokerFaults = { refused: 0, lostAnswer: 0, torn: 0, late: 0, slowMs: 4 };

/** What becomes of one request; see `BrokerFaults`. */
export type RequestFate = 'ok' | 'refused' | 'answer_lost' | 'torn' | 'late';

export type TopicName = PublishRow['topic'] | 'state';

interface Producer {
  /** It has no connection yet, or failed: it does not know who leads which partition. */
  fresh: boolean;
  busy: boolean;
  cut: boolean;
  /** Of its present request, by a script. */
  fate?: RequestFate | undefined;
}

interface StateWriterOf {
  readonly fencing?: boolean;
  readonly lane?: () => number;
  readonly from?: string;
}

/** A writer of the state topic, and whether it is still the newest of its lane. */
interface Writer {
  readonly from: string;
  readonly mayWrite: () => boolean;
}

const partitions = 12;

/**
 * Kafka in memory: partitions by key, appended in the order of arrival, and one transactional
 * writer of the state topic at a time. It survives the crashes of its clients, and what they had
 * sent by then still arrives, or not.
 *
 * Invariant: what is in a topic stays there, at its place. A transaction is there whole or not at
 * all, and only of the newest writer.
 */
export class MemoryBroker {
  faults: BrokerFaults = noBrokerFaults;
  /** Everything is refused while true. */
  down = false;
  /** The fate of each request where a test says it, in place of the dice. */
  script: (() => RequestFate) | undefined;
  /** How long a part of the way takes that takes `mostMs` at most. */
  passMs: (mostMs: number) => number = (mostMs) => this.random.next() * mostMs;
  /** What a correct client never does. */
  readonly violations: string[] = [];
  /** What a reader sees of each topic, in the order of arrival over all partitions. */
  readonly records: Record<TopicName, PublishRow[]> = {
    updates: [],
    watermarks: [],
    state: [],
    results: [],
    checkpoint: [],
  };
  onAppend: (topic: TopicName, row: PublishRow, from: string) => void = () => {};
  /** Told when a process begins to send, by its name. */
  onSend: (from: string) => void = () => {};
  /** How often a process has taken over the state topic of a lane: the last one may write. */
  writers = 0;
  private readonly writerOf = new Map<number, number>();
  private readonly clock: Clock;
  private readonly random: Random;

  constructor(clock: Clock, random: Random) {
    this.clock = clock;
    this.random = random;
  }

  /** The log topics, as one process sends to them. */
  publisher(host: Host, from = host.name): Publisher {
    const producer = this.producer(host);
    const publish = async (rows: readonly PublishRow[], mayAct = () => true, along?: SentAlong) => {
      const carried = producer.fresh || along?.alone !== false ? undefined : along.row;
      if (along !== undefined && carried === undefined) {
        await along.before();
        if (!mayAct()) throw new PublishError('lease', 'the lease grew too old before a send');
      }
      this.onSend(from);
      producer.fresh = true;
      await host.answer(this.send(rows, producer, from, carried));
      producer.fresh = false;
      if (carried !== undefined) along?.carried();
    };
    return { publish, close: async () => undefined };
  }

  /**
   * The state topic, as one process writes it for the lane that it
   * holds then. `fencing` is for a planted bug.
   */
  statePublisher(host: Host, { fencing = true, lane = () => 0, from = host.name }: StateWriterOf = {}): StatePublisher {
    const producer = this.producer(host);
    let writer = -1;
    let ofLane = 0;
    const takeOver = async () => {
      ofLane = lane();
      await this.travel(producer, 'take over');
      this.writers += 1;
      writer = this.writers;
      this.writerOf.set(ofLane, writer);
    };
    const flush = async (rows: readonly LogRow[]) => {
      if (writer < 0 || ofLane !== lane()) this.violations.push(`${from} flushes without having taken over`);
      const mine = writer;
      writer = -1;
      await this.transact(rows, producer, { from, mayWrite: () => !fencing || mine === this.writerOf.get(ofLane) });
      writer = mine;
    };
    return {
      takeOver: () => host.answer(takeOver()),
      flush: (rows) => {
        this.onSend(from);
        return host.answer(flush(rows));
      },
      close: async () => undefined,
    };
  }

  /** The newest checkpoint of each lane, as `CheckpointReader` reads them. */
  async checkpoints(): Promise<readonly LaneCheckpoint[]> {
    await this.pass(this.faults.slowMs);
    if (this.down) throw new Error('the broker cannot be reached');
    const newest = new Map<number, LaneCheckpoint>();
    for (const { payload } of this.records.checkpoint) {
      const checkpoint = decodeCheckpoint(payload);
      if (checkpoint !== undefined)
        newest.set(checkpoint.lane, mergeCheckpoint(newest.get(checkpoint.lane), checkpoint));
    }
    return [...newest.values()];
  }

  partitionOf(key: string): number {
    let hash = 0;
    for (let i = 0; i < key.length; i += 1) hash = (hash * 31 + key.charCodeAt(i)) | 0;
    return Math.abs(hash) % partitions;
  }

  private producer(host: Host): Producer {
    const producer: Producer = { fresh: true, busy: false, cut: false };
    host.onCrash.push(() => {
      producer.cut = this.random.next() < 0.5;
    });
    return producer;
  }

  private async send(
    rows: readonly PublishRow[],
    producer: Producer,
    from: string,
    carried?: PublishRow,
  ): Promise<void> {
    if (producer.busy) this.violations.push(`${from} sends while a send is under way`);
    if (rows.some((row) => row.topic !== rows[0]?.topic)) this.violations.push(`${from} mixes topics in one send`);
    producer.busy = true;
    try {
      await this.travel(producer, 'send');
      await this.arrive(rows, producer, from, carried);
      await this.pass(2);
    } finally {
      producer.busy = false;
    }
  }

  /** What goes along is in each broker's request, so it is there whatever part of the rows is. */
  private async arrive(
    rows: readonly PublishRow[],
    producer: Producer,
    from: string,
    carried?: PublishRow,
  ): Promise<void> {
    const append = (arrived: readonly PublishRow[]) =>
      this.append(carried === undefined ? arrived : [carried, ...arrived], from);
    const fate = producer.fate ?? this.drawFate();
    if (fate === 'late') {
      const laterMs = 50 + this.random.next() * 3000;
      this.clock.after(laterMs, () => append(rows));
      await this.pass(laterMs);
      throw new PublishError('timeout', 'no answer in time');
    }
    if (fate === 'torn') {
      append(this.tear(rows));
      throw new PublishError('not_leader', 'a partition has another leader');
    }
    append(rows);
    if (fate === 'answer_lost') throw new PublishError('connection', 'the connection broke behind the request');
  }

  private async transact(rows: readonly LogRow[], producer: Producer, writer: Writer): Promise<void> {
    await this.travel(producer, 'begin');
    await this.pass(this.faults.slowMs * 3);
    const fate = producer.fate ?? this.drawFate();
    if (fate === 'late') {
      // The request lies somewhere; the writer gives up, and is a
      // newer writer by the time it arrives.
      this.clock.after(this.random.next() * 5000, () => this.commit(rows, writer));
      throw new PublishError('timeout', 'no answer in time');
    }
    if (fate === 'torn') throw new PublishError('not_leader', 'aborted');
    if (!this.commit(rows, writer)) throw new PublishError('fenced', 'a newer writer took over');
    if (fate === 'answer_lost') throw new PublishError('timeout', 'the answer to the commit was lost');
    await this.pass(2);
  }

  private commit(rows: readonly LogRow[], { from, mayWrite }: Writer): boolean {
    if (!mayWrite()) return false;
    for (const row of rows) this.put('state', row, from);
    return true;
  }

  private async travel(producer: Producer, what: string): Promise<void> {
    producer.fate = this.script?.();
    await this.pass(this.faults.slowMs);
    if (this.down || producer.cut || this.refuses(producer)) throw new PublishError('connection', `${what}: refused`);
  }

  private refuses({ fate }: Producer): boolean {
    return fate === undefined ? this.random.next() < this.faults.refused : fate === 'refused';
  }

  /** Of a request that was not refused. */
  private drawFate(): RequestFate {
    const { lostAnswer, torn, late } = this.faults;
    const dice = this.random.next();
    if (dice < late) return 'late';
    if (dice < late + torn) return 'torn';
    return dice < late + torn + lostAnswer ? 'answer_lost' : 'ok';
  }

  private pass(mostMs: number): Promise<void> {
    return this.clock.sleep(this.passMs(mostMs));
  }

  private append(rows: readonly PublishRow[], from: string): void {
    for (const row of rows) this.put(row.topic, row, from);
  }

  private put(topic: TopicName, row: PublishRow, from: string): void {
    this.records[topic].push(row);
    this.onAppend(topic, row, from);
  }

  private tear(rows: readonly PublishRow[]): PublishRow[] {
    const cut = new Set<number>();
    return rows.filter((row) => {
      const partition = row.topic === 'watermarks' ? 0 : this.partitionOf(row.key);
      if (this.random.next() < 0.4) cut.add(partition);
      return !cut.has(partition);
    });
  }
}
