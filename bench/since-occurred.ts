import { parseInstant } from '../src/domain/instant.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { systemRandom } from '../src/runtime/random.ts';
import type { TopicRecord } from '../src/service/log/follow-topic.ts';
import { kafkaDefaults } from '../src/service/log/kafka-options.ts';
import { readTopic } from '../src/service/log/read-topic.ts';
import { percentile } from './percentile.ts';
import { benchLog } from './stack.ts';
import type { Watched } from './watch-load.ts';

/** By the wall clock, which all processes share. */
interface Window {
  readonly fromMs: number;
  readonly untilMs: number;
}

interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

/** Milliseconds since each change at the platform. */
interface SinceOccurred {
  /** Until its frame was read: it has waited in both sockets, where no stopwatch runs. */
  readonly read: Percentiles;
  /** Until it was sent to Kafka. */
  readonly sent: Percentiles;
}

type Sent = Pick<TopicRecord, 'value' | 'timestampMs'>;

/** Reads the whole topic, so not while a load is measured. */
export async function sinceOccurred({ stack, service }: Watched, windows: readonly Window[]): Promise<SinceOccurred[]> {
  const kafka = { ...kafkaDefaults, brokers: stack.kafka.brokers };
  const options = {
    kafka,
    topic: service.updatesTopic,
    from: 'beginning',
    until: 'end',
    readCommitted: false,
  } as const;
  const within = windows.map((window) => ({ window, records: [] as Sent[] }));
  for await (const record of readTopic({ log: benchLog, clock: systemClock, random: systemRandom }, options)) {
    const at = within.find(({ window }) => record.timestampMs >= window.fromMs && record.timestampMs < window.untilMs);
    at?.records.push(record);
  }
  return within.map(({ records }) => waitsOf(records));
}

/** Of events alone: a row of a list shows changes of long ago. */
export function waitsOf(records: readonly Sent[]): SinceOccurred {
  const read: number[] = [];
  const sent: number[] = [];
  for (const { value, timestampMs } of records) {
    const { cause, occurredAt, observedAt } = JSON.parse(value ?? '{}') as Record<string, unknown>;
    const occurred = parseInstant(occurredAt);
    const observed = parseInstant(observedAt);
    if (cause !== 'stream' || occurred === undefined || observed === undefined) continue;
    read.push(Number(observed - occurred) / 1e6);
    sent.push(timestampMs - Number(occurred) / 1e6);
  }
  const of = (values: readonly number[]) => ({ p50: percentile(values, 0.5), p99: percentile(values, 0.99) });
  return { read: of(read), sent: of(sent) };
}
