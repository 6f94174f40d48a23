import { SingleFlight, withDeadline } from '../../runtime/waiting.ts';
import { type ConsumerLag, readConsumerLag } from './consumer-lag.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { type AdminDeps, withAdmin } from './with-admin.ts';

/** `atMs`: wall time of Kafka's answer. */
type ConsumersResult =
  | { readonly kind: 'read'; readonly atMs: number; readonly lag: ConsumerLag }
  | { readonly kind: 'unavailable' };

interface ConsumerGroupsDeps extends AdminDeps {
  /** Instead of Kafka, for tests. */
  readonly read?: () => Promise<ConsumerLag>;
}

interface ConsumerGroupsOptions {
  readonly kafka: KafkaOptions;
  readonly topics: readonly string[];
}

/**
 * An answer, also a failure, is good for so long: callers that ask each second cost one look at
 * Kafka in five.
 */
const keptMs = 5_000;
const waitMs = 8_000;
const askMs = 5_000;
const maxGroups = 200;
const width = 8;
const unavailable: ConsumersResult = { kind: 'unavailable' };

/**
 * The consumer groups of the topics with their lag: Kafka is asked once for all callers, at most
 * each 5 s, and each waits for 8 s at most. An admin client is opened for each look and closed
 * after it, so an unwatched service keeps no connection.
 */
export class ConsumerGroups {
  private last: { readonly result: ConsumersResult; readonly monotonicMs: number } | undefined;
  private failing = false;
  private readonly looks = new SingleFlight<ConsumersResult>();
  private readonly deps: ConsumerGroupsDeps;
  private readonly options: ConsumerGroupsOptions;

  constructor(deps: ConsumerGroupsDeps, options: ConsumerGroupsOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** Never rejects. */
  async read(): Promise<ConsumersResult> {
    const { clock } = this.deps;
    if (this.last !== undefined && clock.monotonicMs() - this.last.monotonicMs < keptMs) return this.last.result;
    const look = this.looks.run(() => this.look());
    // A look that is too late for this caller goes on, and becomes the next caller's answer.
    return withDeadline(clock, waitMs, 'asking Kafka for the consumer groups', look).catch(() => unavailable);
  }

  private async look(): Promise<ConsumersResult> {
    const { clock } = this.deps;
    const result = await this.ask();
    this.last = { result, monotonicMs: clock.monotonicMs() };
    return result;
  }

  private async ask(): Promise<ConsumersResult> {
    const { clock, log, read = () => this.askKafka() } = this.deps;
    try {
      const lag = await read();
      this.failing = false;
      return { kind: 'read', atMs: clock.nowMs(), lag };
    } catch (err) {
      if (!this.failing)
        log.warn({ err }, 'Kafka did not show the consumer groups; it is asked again when a caller asks');
      this.failing = true;
      return unavailable;
    }
  }

  private askKafka(): Promise<ConsumerLag> {
    const { kafka, topics } = this.options;
    return withAdmin(this.deps, kafka, (admin) => readConsumerLag(admin, { topics, maxGroups, width }), askMs);
  }
}
