import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Secret } from '../../../src/runtime/secret.ts';
import type { KafkaOptions, KafkaSaslOptions } from '../../../src/service/log/kafka-options.ts';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { kafkaDeps, kafkaOptions } from '../../support/servers/kafka-fixture.ts';
import { type SecuredKafka, startSecuredKafka } from '../../support/servers/secured-kafka.ts';

let kafka: SecuredKafka;
beforeAll(async () => {
  kafka = await startSecuredKafka({ tidemark: 'correct-horse' });
});
afterAll(() => kafka?.stop());

function brokersSeenBy(options: KafkaOptions): Promise<number> {
  return withAdmin(kafkaDeps, options, async (admin) => (await admin.describeCluster()).brokers.length);
}

const ca = () => readFileSync(kafka.authority, 'utf8');

function overSasl(mechanism: KafkaSaslOptions['mechanism'], password: string): KafkaOptions {
  const sasl = { mechanism, username: 'tidemark', password: new Secret(password) };
  return { ...kafkaOptions([kafka.sasl]), tls: { ca: ca() }, sasl };
}

const mechanisms = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;

it.each(mechanisms)('signs in with %s over TLS', async (mechanism) => {
  expect(await brokersSeenBy(overSasl(mechanism, 'correct-horse'))).toBe(1);
});

it.each(mechanisms)('says that %s was refused when the password is wrong, and does not show it', async (mechanism) => {
  const error = await brokersSeenBy(overSasl(mechanism, 'wrong-horse')).catch((refusal: unknown) => refusal);
  expect(error).toMatchObject({ message: expect.stringMatching(/authentication failed/i) });
  expect(inspect(error, { depth: null, showHidden: true })).not.toContain('horse');
});

it('shows its own certificate to a broker that asks for one', async () => {
  const { key, cert } = kafka.clientCertificate('tidemark');
  const tls = { ca: ca(), cert: readFileSync(cert, 'utf8'), key: new Secret(readFileSync(key, 'utf8')) };
  expect(await brokersSeenBy({ ...kafkaOptions([kafka.mutualTls]), tls })).toBe(1);
  await expect(brokersSeenBy({ ...kafkaOptions([kafka.mutualTls]), tls: { ca: ca() } })).rejects.toThrow();
});

it('takes no broker whose authority it does not know', async () => {
  const { tls: _, ...options } = overSasl('plain', 'correct-horse');
  await expect(brokersSeenBy({ ...options, tls: {} })).rejects.toThrow(/certificate/);
});
