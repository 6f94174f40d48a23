// What a user saw: Every process answered 503 after an operator had set a topic to be kept longer.

import kafkajs, { type Admin } from 'kafkajs';
import { describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { applyTopics, checkTopics, planTopics } from '../../../src/service/log/plan-topics.ts';
import { type TopicNames, topicSpecs } from '../../../src/service/log/topics.ts';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { eventually } from '../../support/runs/poll.ts';
import { freshTopics, kafkaDeps, kafkaOptions } from '../../support/servers/kafka-fixture.ts';

const { ConfigResourceTypes } = kafkajs;

const brokers = inject('kafkaBrokers');
const options = kafkaOptions(brokers);
const dayMs = 86_400_000;

/** Resolves once a broker shows it, which it does once its own copy of the metadata has it. */
async function setOn(admin: Admin, topic: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configEntries };
  await admin.alterConfigs({ validateOnly: false, resources: [resource] });
  await eventually(async () => {
    for (const { name, value } of configEntries) expect(await settingOf(admin, topic, name)).toBe(value);
  });
}

async function settingOf(admin: Admin, topic: string, name: string): Promise<string | undefined> {
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configNames: [name] };
  const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] });
  return resources[0]?.configEntries[0]?.configValue;
}

/**
 * An operator kept a topic longer, and every process answered 503 while everything flowed; the
 * remedy that was printed shortened the topic, which deletes records.
 */
describe('a setting that an operator has changed', () => {
  it('a topic that is kept longer is a note, and nothing deletes its records unasked', async () => {
    const names = await freshTopics(brokers);
    await withAdmin(kafkaDeps, options, async (admin) => {
      await setOn(admin, names.updates, {
        'cleanup.policy': 'delete',
        'retention.ms': String(30 * dayMs),
        'segment.bytes': '52428800',
      });
      const state = await checkTopics(kafkaDeps, options, names);
      expect(state).toMatchObject({
        kind: 'planned',
        notes: [expect.stringMatching(/order-updates.*retention\.ms=2592000000/)],
      });
      expect(state).not.toHaveProperty('doubts');
      expect(JSON.stringify(state)).toMatch(
        /would delete records older than 7 days, and `tidemark topics apply` leaves it/,
      );
      await applyTopics(admin, await planTopics(admin, topicSpecs(names)), systemClock);
      expect(await settingOf(admin, names.updates, 'retention.ms')).toBe(String(30 * dayMs));
      expect(await checkTopics(kafkaDeps, options, names, 30), 'it is the plan').toEqual({
        kind: 'planned',
        doubts: expect.arrayContaining([expect.stringMatching(/continuity.*records go earlier than planned/)]),
      });
      const plan = await planTopics(admin, topicSpecs(names));
      await applyTopics(admin, plan, systemClock, { deleteRecords: true });
      await eventually(async () =>
        expect(await settingOf(admin, names.updates, 'retention.ms')).toBe(String(7 * dayMs)),
      );
      expect(await settingOf(admin, names.updates, 'segment.bytes'), 'what else was set stays').toBe('52428800');
    });
  });

  it.each<[string, keyof TopicNames, Readonly<Record<string, string>>, RegExp]>([
    ['a shorter retention', 'updates', { 'retention.ms': String(dayMs) }, /records go earlier/],
    ['a limit by size', 'outcomes', { 'retention.bytes': '1000000' }, /records go by the size/],
    ['compacted updates', 'updates', { 'cleanup.policy': 'compact' }, /would delete records older than its retention/],
    ['a state topic that deletes', 'state', { 'cleanup.policy': 'compact,delete' }, /other records go than planned/],
    ['smaller records', 'updates', { 'max.message.bytes': '1000' }, /a record that is larger is refused/],
    ['more replicas in step than there are', 'updates', { 'min.insync.replicas': '2' }, /nothing can be written/],
  ])('%s is a doubt, and no reason to be unready', async (_, topic, settings, doubt) => {
    const names = await freshTopics(brokers);
    const planned = topicSpecs(names).find(({ name }) => name === names[topic])?.settings ?? {};
    await withAdmin(kafkaDeps, options, (admin) => setOn(admin, names[topic], { ...planned, ...settings }));
    await eventually(async () =>
      expect(await checkTopics(kafkaDeps, options, names)).toEqual({
        kind: 'planned',
        doubts: [expect.stringMatching(doubt)],
      }),
    );
  });
});
