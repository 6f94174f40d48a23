import type { Config, ConfigWith } from '../config/config.ts';
import { type KafkaOptions, kafkaDefaults } from '../kafka/kafka-options.ts';

/** How the brokers are reached, from the settings. */
export function kafkaOptions(config: ConfigWith<'kafkaBrokers'>): KafkaOptions {
  return { ...kafkaDefaults, brokers: config.kafkaBrokers, ...tls(config), ...sasl(config) };
}

function tls({ kafkaSsl, kafkaSslCa, kafkaSslCert, kafkaSslKey }: Config): Pick<KafkaOptions, 'tls'> {
  if (kafkaSsl === 'off') return {};
  return {
    tls: {
      ...(kafkaSslCa === undefined ? {} : { ca: kafkaSslCa.reveal() }),
      ...(kafkaSslCert === undefined ? {} : { cert: kafkaSslCert.reveal() }),
      ...(kafkaSslKey === undefined ? {} : { key: kafkaSslKey }),
    },
  };
}

/** The configuration has made sure that all three are set, or none. */
function sasl({
  kafkaSaslMechanism: mechanism,
  kafkaSaslUsername: username,
  kafkaSaslPassword: password,
}: Config): Pick<KafkaOptions, 'sasl'> {
  if (mechanism === undefined || username === undefined || password === undefined) return {};
  return { sasl: { mechanism, username, password } };
}
