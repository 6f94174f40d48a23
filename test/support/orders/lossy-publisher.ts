import type { Clock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import type { Publisher, PublishRow, SentAlong } from '../../../src/service/log/publisher.ts';
import { Host } from '../../simulation/host.ts';
import { MemoryBroker, type RequestFate } from '../../simulation/world/memory-broker.ts';

/**
 * The log topics of the simulator's broker as one relay sends to them, for tests of a relay: the
 * test says the fate of each send and how long it takes.
 */
export class LossyPublisher implements Publisher {
  /** What a consumer would read, in the order of arrival. */
  readonly arrived: PublishRow[] = [];
  sends = 0;
  largestSend = 0;
  /** Of a send that is answered. */
  delayMs = 1;
  fate: () => RequestFate = () => 'ok';
  /** Called before each send, for what must hold at that moment: what it throws is a violation. */
  onSend: (rows: readonly PublishRow[]) => void = () => {};
  private readonly faults: string[] = [];
  private readonly answered: PublishRow[] = [];
  private readonly broker: MemoryBroker;
  private readonly publisher: Publisher;

  constructor(clock: Clock, random: Random) {
    this.broker = new MemoryBroker(clock, random);
    this.broker.script = () => this.fate();
    // The two parts of the way of a send take 4 and 2 ms at most.
    this.broker.passMs = (mostMs) => (this.delayMs * mostMs) / 6;
    this.broker.onAppend = (_topic, row) => this.arrived.push(row);
    this.publisher = this.broker.publisher(new Host('relay', clock));
  }

  async publish(rows: readonly PublishRow[], mayAct?: () => boolean, along?: SentAlong): Promise<void> {
    this.watch(rows);
    this.sends += 1;
    this.largestSend = Math.max(this.largestSend, rows.length);
    await this.publisher.publish(rows, mayAct, along);
    this.answered.push(...rows);
  }

  /** Thrown into the relay it would be one more failure of Kafka, which the relay tries again. */
  private watch(rows: readonly PublishRow[]): void {
    try {
      this.onSend(rows);
    } catch (error) {
      this.faults.push(String(error));
    }
  }

  /**
   * What a correct relay never does: two sends at once, two topics in one send, or one at a moment
   * that `onSend` denies.
   */
  get violations(): readonly string[] {
    return [...this.broker.violations, ...this.faults];
  }

  /** The payloads of the rows of the topic whose send was answered, in the order of the answers. */
  acknowledged(topic: PublishRow['topic']): string[] {
    return this.answered.filter((row) => row.topic === topic).map(({ payload }) => payload);
  }

  close(): Promise<void> {
    return this.publisher.close();
  }
}
