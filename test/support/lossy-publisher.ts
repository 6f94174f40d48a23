import { PublishError, type Publisher, type PublishRow } from '../../src/publish/publisher.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import type { Random } from '../../src/runtime/random.ts';

/** What becomes of a send: all arrives, nothing arrives, all arrives but the answer is lost, or each partition gets only the rows up to some point. */
export type Fate = 'ok' | 'refused' | 'answer_lost' | 'torn';

/** Kafka as the relay sees it. `arrived` is what a consumer would read, in the order of arrival. */
export class LossyPublisher implements Publisher {
  readonly arrived: PublishRow[] = [];
  private readonly answered: PublishRow[] = [];
  sends = 0;
  largestSend = 0;
  delayMs = 1;
  fate: () => Fate = () => 'ok';
  /** Called before each send: for what must hold at that moment. */
  onSend: (rows: readonly PublishRow[]) => void = () => {};
  private sending = false;
  private readonly clock: Clock;
  private readonly random: Random;

  constructor(clock: Clock, random: Random) {
    this.clock = clock;
    this.random = random;
  }

  async publish(rows: readonly PublishRow[]): Promise<void> {
    if (this.sending) throw new Error('two sends at once');
    this.onSend(rows);
    this.sending = true;
    this.sends += 1;
    this.largestSend = Math.max(this.largestSend, rows.length);
    const fate = this.fate();
    if (fate === 'ok' || fate === 'answer_lost') this.arrived.push(...rows);
    if (fate === 'torn') this.arrived.push(...this.tear(rows));
    await this.clock.sleep(this.delayMs);
    this.sending = false;
    if (fate !== 'ok') throw new PublishError(fate, `the send was ${fate}`);
    this.answered.push(...rows);
  }

  /** The payloads of the rows of the topic whose send was answered, in the order of the answers. */
  acknowledged(topic: PublishRow['topic']): string[] {
    return this.answered.filter((row) => row.topic === topic).map(({ payload }) => payload);
  }

  async close(): Promise<void> {}

  /** A partition takes a send in order, so what arrives is a beginning of each key's rows. */
  private tear(rows: readonly PublishRow[]): PublishRow[] {
    const cut = new Set<string>();
    return rows.filter((row) => {
      if (this.random.next() < 0.3) cut.add(row.key);
      return !cut.has(row.key);
    });
  }
}
