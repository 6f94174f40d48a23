import type { Config, ConfigWith } from '../../config/config.ts';
import { present } from '../../domain/present.ts';
import type { Secret } from '../../runtime/secret.ts';

interface KafkaTlsOptions {
  /** PEM. Absent: the machine's own root certificates. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: Secret;
}

export interface KafkaSaslOptions {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: Secret;
}

/** The brokers' addresses, and how to connect to them. */
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

/** The same, from the settings. */
export function kafkaOptions(config: ConfigWith<'kafkaBrokers'>): KafkaOptions {
  return { ...kafkaDefaults, brokers: config.kafkaBrokers, ...tls(config), ...sasl(config) };
}

function tls({ kafkaSsl, kafkaSslCa, kafkaSslCert, kafkaSslKey }: Config): Pick<KafkaOptions, 'tls'> {
  if (kafkaSsl === 'off') return {};
  return { tls: present({ ca: kafkaSslCa?.reveal(), cert: kafkaSslCert?.reveal(), key: kafkaSslKey }) };
}

/** The configuration makes sure that all three are set, or none. */
function sasl({
  kafkaSaslMechanism: mechanism,
  kafkaSaslUsername: username,
  kafkaSaslPassword: password,
}: Config): Pick<KafkaOptions, 'sasl'> {
  if (mechanism === undefined || username === undefined || password === undefined) return {};
  return { sasl: { mechanism, username, password } };
}
