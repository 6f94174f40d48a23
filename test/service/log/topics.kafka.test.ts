import kafkajs from 'kafkajs';
import { describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { applyTopics, checkTopics, planTopics } from '../../../src/service/log/plan-topics.ts';
import { topicNames, topicSpecs } from '../../../src/service/log/topics.ts';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { eventually } from '../../support/runs/poll.ts';
import { freshTopics, kafkaDeps, kafkaOptions } from '../../support/servers/kafka-fixture.ts';
import { topicPrefix } from '../../support/servers/topics.ts';

const { ConfigResourceTypes } = kafkajs;

const brokers = inject('kafkaBrokers');
const options = kafkaOptions(brokers);

describe('the topics', () => {
  it('are planned, made as planned, and then leave nothing to do', async () => {
    const names = topicNames(topicPrefix());
    const specs = topicSpecs(names);
    await withAdmin(kafkaDeps, options, async (admin) => {
      const before = await planTopics(admin, specs);
      expect(before.creations.map(({ spec }) => [spec.name, spec.partitions])).toEqual([
        [names.updates, 12],
        [names.state, 12],
        [names.continuity, 1],
        [names.outcomes, 3],
        [names.witness, 6],
      ]);
      await applyTopics(admin, before, systemClock);
      expect(await planTopics(admin, specs)).toEqual({ creations: [], alterations: [], faults: [] });
      await applyTopics(admin, before, systemClock);
    });
    expect(await checkTopics(kafkaDeps, options, names)).toEqual({ kind: 'planned' });
  });

  it('that are missing are faults, each with its fix', async () => {
    const names = topicNames(topicPrefix());
    const check = await checkTopics(kafkaDeps, options, names);
    expect(check).toMatchObject({
      kind: 'faulty',
      faults: expect.arrayContaining([expect.stringMatching(/order-state\.v1 is missing.*topics apply/)]),
    });
  });

  it('with a wrong setting are found and put right, and keep what else was set on them', async () => {
    const names = await freshTopics(brokers);
    await withAdmin(kafkaDeps, options, async (admin) => {
      await admin.alterConfigs({
        validateOnly: false,
        resources: [
          {
            type: ConfigResourceTypes.TOPIC,
            name: names.state,
            configEntries: [
              { name: 'cleanup.policy', value: 'delete' },
              { name: 'segment.bytes', value: '52428800' },
            ],
          },
        ],
      });
      // A broker shows a change once its own copy of the metadata has it.
      const plan = await eventually(async () => {
        const seen = await planTopics(admin, topicSpecs(names));
        expect(seen.alterations).toMatchObject([{ topic: names.state }]);
        return seen;
      });
      expect(plan.alterations[0]?.changes).toContainEqual({
        setting: 'cleanup.policy',
        found: 'delete',
        wanted: 'compact',
      });
      await applyTopics(admin, plan, systemClock);
      await eventually(async () =>
        expect(await planTopics(admin, topicSpecs(names))).toEqual({ creations: [], alterations: [], faults: [] }),
      );
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: ConfigResourceTypes.TOPIC, name: names.state, configNames: ['segment.bytes'] }],
      });
      expect(resources[0]?.configEntries[0]?.configValue).toBe('52428800');
    });
  });

  it('with a wrong partition count are a fault that is reported and never fixed', async () => {
    const names = await freshTopics(brokers, (wanted) =>
      topicSpecs(wanted).map((spec) => ({ ...spec, partitions: 2 })),
    );
    await withAdmin(kafkaDeps, options, async (admin) => {
      const plan = await planTopics(admin, topicSpecs(names));
      expect(plan.faults).toHaveLength(4);
      expect(plan.faults.join(), 'its keys have no order to keep').not.toContain(names.witness);
      await applyTopics(admin, plan, systemClock);
      const { topics } = await admin.fetchTopicMetadata({ topics: [names.updates] });
      expect(topics[0]?.partitions).toHaveLength(2);
    });
    expect(await checkTopics(kafkaDeps, options, names)).toMatchObject({ kind: 'faulty' });
  });

  it('are not judged when no broker answers', async () => {
    const check = await checkTopics(kafkaDeps, kafkaOptions(['127.0.0.1:9']), topicNames());
    expect(check).toEqual({ kind: 'silent', why: expect.any(String) });
  });
});
