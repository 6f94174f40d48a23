import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, World } from '../support/runs/service-under-test.ts';
import type { TidemarkProcess } from '../support/runs/tidemark-process.ts';
import { type SecuredKafka, startSecuredKafka } from '../support/servers/secured-kafka.ts';
import { grant, type Right, revoke } from './parts/kafka-rights.ts';

const users = { admin: 'admin-password', service: 'service-password', operator: 'operator-password' } as const;

function signedInAs(kafka: SecuredKafka, user: keyof typeof users, mechanism: string): Record<string, string> {
  return {
    ...{ KAFKA_BROKERS: kafka.sasl, KAFKA_SSL: 'on', KAFKA_SSL_CA_FILE: kafka.authority },
    ...{ KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: user, KAFKA_SASL_PASSWORD: users[user] },
  };
}

async function succeeded(started: Promise<TidemarkProcess>): Promise<string> {
  const process = await started;
  expect(await process.exited, process.tail()).toBe(0);
  return process.lines.join('\n');
}

it('with TLS, a user and the rights that docs/security.md names it does its work; without one of them it says so, and goes on when it is back', async () => {
  const kafka = await startSecuredKafka(users);
  onTestFinished(() => kafka.stop());
  const { description } = await runningSandbox({ market: { rate: 100, openOrders: 50, knownOrders: 80 } });
  const world = await World.create({ brokers: [kafka.open], platform: platformSettings(description) });
  const { updates, state, watermarks, results, checkpoint } = world.topics;
  const topic = (name: string, ...may: Right['may']): Right => ({ on: 'TOPIC', name, may });

  // Topics of its own: those of the world are there already.
  const prefix = `fresh-${randomUUID()}.`;
  await grant(kafka.open, 'admin', [topic(`${prefix}*`, 'CREATE', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS')]);
  const asAdmin = { ...signedInAs(kafka, 'admin', 'scram-sha-512'), TIDEMARK_TOPIC_PREFIX: prefix };
  await succeeded(world.run(['topics', 'apply'], asAdmin));
  await succeeded(world.run(['topics', 'plan', '--check'], asAdmin));

  const asService = signedInAs(kafka, 'service', 'scram-sha-256');
  const doctor = await world.run(['doctor'], asService);
  expect(await doctor.exited).toBe(1);
  expect(doctor.lines.join('\n')).toMatch(
    /order-updates\.v1 is missing[\s\S]*A topic that this user of Kafka may not describe is missing, too\./,
  );
  await grant(kafka.open, 'service', [
    ...[updates, state, watermarks, results, checkpoint].map((name) =>
      topic(name, 'WRITE', 'DESCRIBE', 'DESCRIBE_CONFIGS'),
    ),
    ...[checkpoint, watermarks].map((name) => topic(name, 'READ')),
    { on: 'TRANSACTIONAL_ID', name: `${state}.lane-0`, may: ['WRITE', 'DESCRIBE'] },
    { on: 'GROUP', name: 'tidemark*', may: ['READ'] },
  ]);
  const service = await world.serve(asService);
  await service.waitLive();
  for (const name of ['updates', 'watermarks'])
    await service.waitMetric('tidemark_publish_records_total', { topic: name, result: 'acknowledged' }, 1);
  await eventually(async () => expect((await service.ready()).code).toBe(200), { deadlineMs: 60_000 });

  await revoke(kafka.open, 'service', { on: 'TOPIC', name: updates });
  const { code } = await service.awaitLog('what Kafka refuses', ({ msg }) => msg.startsWith('publishing failed'));
  expect(code).toBe('unauthorized');
  await grant(kafka.open, 'service', [topic(updates, 'WRITE', 'DESCRIBE', 'DESCRIBE_CONFIGS')]);
  await control(description, '/rate', { rate: 0 });
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);

  const asOperator = signedInAs(kafka, 'operator', 'plain');
  await grant(kafka.open, 'operator', [
    ...[updates, state].map((name) => topic(name, 'READ')),
    { on: 'GROUP', name: 'tidemark*', may: ['READ'] },
  ]);
  expect(await succeeded(world.run(['verify'], asOperator))).toMatch(/nothing is missing/i);
  expect(await service.stop()).toBe(0);
}, 240_000);
