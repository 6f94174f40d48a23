import { Counter, Gauge, type Registry } from 'prom-client';

export function restMetrics(registry: Registry) {
  const registers = [registry];
  return {
    authFailures: new Counter({
      name: 'tidemark_rest_auth_failures_total',
      help: 'Requests refused because nobody could be told from their token (401)',
      labelNames: ['reason'] as const,
      registers,
    }),
    issuerKeyReads: new Counter({
      name: 'tidemark_rest_issuer_key_reads_total',
      help: 'Reads of the public keys of the issuer of JWTs',
      labelNames: ['outcome'] as const,
      registers,
    }),
    streamClients: new Gauge({
      name: 'tidemark_rest_stream_clients',
      help: 'Readers of GET /v1/stream',
      registers,
    }),
    streamResets: new Counter({
      name: 'tidemark_rest_stream_resets_total',
      help: 'Readers of the stream that were told to read anew',
      labelNames: ['reason'] as const,
      registers,
    }),
    readRows: new Gauge({
      name: 'tidemark_rest_read_rows',
      help: 'Rows of reads that are under way (a page of 500 is 500)',
      registers,
    }),
    readsWaiting: new Gauge({
      name: 'tidemark_rest_reads_waiting',
      help: 'Reads that wait for room beside the others of their principal, or of all',
      registers,
    }),
    readsRefused: new Counter({
      name: 'tidemark_rest_reads_refused_total',
      help: 'Reads answered 429: their principal had too many, or they waited for too long',
      registers,
    }),
    heldBytes: new Gauge({
      name: 'tidemark_rest_held_bytes',
      help: 'Answers of reads that sockets have not taken yet',
      registers,
    }),
    slowReaders: new Counter({
      name: 'tidemark_rest_slow_readers_total',
      help: 'Connections that were ended because an answer was not taken in time',
      registers,
    }),
  };
}

export type RestMetrics = ReturnType<typeof restMetrics>;
