import type { Secret } from '../runtime/secret.ts';

export interface KafkaTlsOptions {
  /** PEM. Absent: the machine's own roots. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: Secret;
}

export interface KafkaSaslOptions {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: Secret;
}

/** How the brokers are reached. */
export interface KafkaOptions {
  /** `host:port`, at least one. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly tls?: KafkaTlsOptions;
  readonly sasl?: KafkaSaslOptions;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
}

export const kafkaDefaults = { clientId: 'tidemark', connectTimeoutMs: 3000, requestTimeoutMs: 5000 } as const;
