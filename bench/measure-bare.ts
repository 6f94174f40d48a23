import type { Bench, Figure } from './figure.ts';
import { measureKafkaPath } from './kafka-path.ts';
import { measureWritePath } from './write-path.ts';

/**
 * The statement of a batch alone, for as long as the service's highest rate: in ten seconds the
 * disk has not yet begun to write back what a minute leaves (43k rows/s against 33k).
 */
export async function measureBareWrites({ stack, real, seconds }: Bench): Promise<Figure[]> {
  const { rowsPerSecond, payloadBytes } = await measureWritePath({
    url: stack.postgres.url,
    seconds,
    rows: real.rows,
  });
  return [{ name: 'bare write path, rows/s', value: rowsPerSecond, note: `${payloadBytes} B a row` }];
}

export async function measureBareKafka({ stack, real, seconds }: Bench): Promise<Figure[]> {
  const { brokers } = stack.kafka;
  const { messagesPerSecond } = await measureKafkaPath({ brokers, seconds, payloadBytes: 1000, rows: real.records });
  return [{ name: 'bare kafkajs, records/s', value: messagesPerSecond }];
}
