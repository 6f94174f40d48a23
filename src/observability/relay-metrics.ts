import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export function relayMetrics(registry: Registry) {
  const registers = [registry];
  return {
    pending: new Gauge({
      name: 'tidemark_log_pending',
      help: 'Committed updates not yet acknowledged by Kafka',
      labelNames: ['topic'] as const,
      registers,
    }),
    oldestPending: new Gauge({
      name: 'tidemark_log_oldest_pending_timestamp_seconds',
      help: 'When the oldest update not yet acknowledged was committed; 0 when there is none',
      labelNames: ['topic'] as const,
      registers,
    }),
    records: new Counter({
      name: 'tidemark_publish_records_total',
      help: 'Records handed to Kafka, by outcome: acknowledged, failed',
      labelNames: ['topic', 'outcome'] as const,
      registers,
    }),
    publishSeconds: new Histogram({
      name: 'tidemark_publish_seconds',
      help: 'Time of one send, from call to every acknowledgement',
      labelNames: ['topic'] as const,
      buckets: [0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.06, 0.1, 0.25, 0.5, 1.5, 5.5],
      registers,
    }),
    producerReplaced: new Counter({
      name: 'tidemark_producer_replaced_total',
      help: 'Producers retired after an error or a deadline',
      labelNames: ['reason'] as const,
      registers,
    }),
    resent: new Counter({
      name: 'tidemark_publish_resent_total',
      help: 'Times that the relay went back to the log, by reason: start, failure, overflow, gap',
      labelNames: ['reason'] as const,
      registers,
    }),
    canary: new Gauge({
      name: 'tidemark_canary_last_roundtrip_timestamp_seconds',
      help: 'When a continuity heartbeat last made its whole way through the log and back from Kafka',
      registers,
    }),
  };
}
