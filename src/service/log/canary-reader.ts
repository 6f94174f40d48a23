import type { Metrics } from '../../observability/metrics.ts';
import type { Service } from '../../runtime/supervisor.ts';
import type { FollowDeps } from './follow-topic.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { readTopic } from './read-topic.ts';

interface CanaryReaderDeps extends FollowDeps {
  readonly metrics: Pick<Metrics['relay'], 'canary'>;
}

interface CanaryReaderOptions {
  readonly kafka: KafkaOptions;
  /** The watermark topic. */
  readonly topic: string;
}

/**
 * Reads the watermark topic back from its end. So
 * `tidemark_canary_last_roundtrip_timestamp_seconds` covers the whole way: source, ingest, log,
 * relay, Kafka and out of it again. An acknowledged send would only show that a broker took it.
 *
 * A consumer, not a request for the end offset: it costs a fetch every 500 ms on one connection,
 * and shows the record itself. It reconnects by itself and never ends the process: if the canary
 * can't be read, its timestamp grows old, and that is the alarm.
 */
export class CanaryReader implements Service {
  readonly name = 'canary-reader';
  private readonly over = new AbortController();
  private reading: Promise<void> = Promise.resolve();
  private readonly deps: CanaryReaderDeps;
  private readonly options: CanaryReaderOptions;

  constructor(deps: CanaryReaderDeps, options: CanaryReaderOptions) {
    this.deps = deps;
    this.options = options;
  }

  async start(): Promise<void> {
    this.reading = this.read();
  }

  async drain(signal: AbortSignal): Promise<void> {
    this.over.abort();
    await Promise.race([this.reading, this.deps.clock.sleep(3000, signal)]);
  }

  private async read(): Promise<void> {
    const { kafka, topic } = this.options;
    const records = readTopic(this.deps, { kafka, topic, from: 'end', readCommitted: false, signal: this.over.signal });
    for await (const { value } of records) {
      if (value !== undefined) this.deps.metrics.canary.set(this.deps.clock.nowMs() / 1000);
    }
  }
}
