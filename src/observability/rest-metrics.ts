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
  };
}

export type RestMetrics = ReturnType<typeof restMetrics>;
