import { type KafkaPathFigures, measureKafkaPath } from './kafka-path.ts';
import type { RealRows } from './real-rows.ts';
import type { Stack } from './stack.ts';
import { measureWritePath, type WritePathFigures } from './write-path.ts';

export interface BareFigures {
  readonly write: readonly WritePathFigures[];
  readonly kafka: readonly KafkaPathFigures[];
}

/** Both bare paths, one after the other, each with the machine to itself. */
export async function measureBare(stack: Stack, real: RealRows, seconds: number): Promise<BareFigures> {
  const write = await measureWritePath({ url: stack.postgres.url, seconds, rows: real.rows });
  const kafka = await measureKafkaPath({
    brokers: stack.kafka.brokers,
    seconds,
    payloadBytes: 1000,
    rows: real.records,
  });
  return { write: [write], kafka: [kafka] };
}

/**
 * Machines change their speed by the minute: the paths are measured before
 * and after the service, and the mean counts.
 */
export function meanRate(bare: BareFigures): { readonly write: number; readonly kafka: number } {
  const mean = (values: readonly number[]) => Math.round(values.reduce((sum, value) => sum + value, 0) / values.length);
  return {
    write: mean(bare.write.map(({ rowsPerSecond }) => rowsPerSecond)),
    kafka: mean(bare.kafka.map(({ messagesPerSecond }) => messagesPerSecond)),
  };
}
