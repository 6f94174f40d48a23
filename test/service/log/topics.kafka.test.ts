import kafkajs, { type Admin } from 'kafkajs';
import { describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { findTopics, judgeTopicEnds } from '../../../src/service/log/judge-topic-ends.ts';
import { applyTopics, checkTopics, planTopics } from '../../../src/service/log/plan-topics.ts';
import { type TopicNames, topicNames, topicSpecs } from '../../../src/service/log/topics.ts';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { eventually } from '../../support/runs/poll.ts';
import {
  deleteTopics,
  freshTopics,
  kafkaDeps,
  kafkaOptions,
  makeTopics,
  writeForeign,
} from '../../support/servers/kafka-fixture.ts';
import { topicPrefix } from '../../support/servers/topics.ts';

const { ConfigResourceTypes } = kafkajs;

const brokers = inject('kafkaBrokers');
const options = kafkaOptions(brokers);

const nothingToDo = { creations: [], alterations: [], faults: [], notes: [], unread: [] };
const asPlanned = { kind: 'planned', unready: [], doubts: [], notes: [] };

describe('the topics', () => {
  it('are planned, made as planned, and then leave nothing to do', async () => {
    const names = topicNames(topicPrefix());
    const specs = topicSpecs(names);
    await withAdmin(kafkaDeps, options, async (admin) => {
      const before = await planTopics(admin, specs);
      expect(before.creations.map(({ spec }) => [spec.name, spec.partitions])).toEqual([
        [names.updates, 12],
        [names.state, 12],
        [names.watermarks, 1],
        [names.results, 3],
        [names.checkpoint, 6],
      ]);
      await applyTopics(admin, before, systemClock);
      expect(await planTopics(admin, specs)).toEqual(nothingToDo);
      await applyTopics(admin, before, systemClock);
    });
    expect(await checkTopics(kafkaDeps, options, names)).toEqual(asPlanned);
  });

  it('that are missing are faults, each with its fix', async () => {
    const names = topicNames(topicPrefix());
    const check = await checkTopics(kafkaDeps, options, names);
    expect(check).toMatchObject({
      kind: 'faulty',
      unready: expect.arrayContaining([expect.stringMatching(/order-state\.v1 is missing.*topics apply/)]),
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
      await eventually(async () => expect(await planTopics(admin, topicSpecs(names))).toEqual(nothingToDo));
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
      expect(plan.faults.join(), 'its keys have no order to keep').not.toContain(names.checkpoint);
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

describe('issue: A topic was deleted and made again without its records, and status said `trusted`.', () => {
  /**
   * What was on the topic was gone, and status said trusted: a topic that is made again is as
   * planned. All ways through the whole service are in test/deep/topic-made-again.deep.ts.
   */
  it('a topic that was deleted and made again ends below what was published, and one that is gone is named', async () => {
    const brokers = inject('kafkaBrokers');
    const options = kafkaOptions(brokers);
    const names = await freshTopics(brokers);
    const look = () => withAdmin(kafkaDeps, options, (admin) => findTopics(admin, names));
    const rows = Array.from({ length: 40 }, (_, i) => ({ key: `account:${i}`, value: '{}' }));
    await writeForeign(brokers, names.updates, rows);
    await writeForeign(brokers, names.state, rows);
    const { seen: published, replaced } = judgeTopicEnds(await look(), []);
    const total = (of: string) =>
      published.find(({ kind }) => kind === of)?.ends.reduce((sum, end) => sum + Number(end), 0);
    expect([replaced, total('updates'), total('state'), total('results')]).toEqual([[], 40, 40, 0]);
    const doubts = async () => judgeTopicEnds(await look(), published).replaced.map(({ detail }) => detail);
    expect(await doubts()).toEqual([]);

    await deleteTopics(brokers, [names.updates, names.results]);
    await eventually(async () => expect(await doubts()).toHaveLength(2));
    expect(await doubts()).toEqual([
      expect.stringMatching(/order-updates\.v1 is gone/),
      expect.stringMatching(/command-results\.v1 is gone/),
    ]);
    await withAdmin(kafkaDeps, options, async (admin) => expect(await admin.listTopics()).not.toContain(names.updates));

    await makeTopics(brokers, topicSpecs(names));
    expect(await checkTopics(kafkaDeps, options, names), 'all is as planned').toEqual(asPlanned);
    await writeForeign(brokers, names.updates, rows.slice(0, 30));
    // Nothing was on the topic of results, so nothing of it is lost.
    await eventually(async () =>
      expect(await doubts()).toEqual([
        expect.stringMatching(/order-updates\.v1 was deleted and made again.* ended at/),
      ]),
    );
  });
});

describe('issue: Every process answered 503 after an operator had set a topic to be kept longer.', () => {
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
          doubts: [],
          notes: [expect.stringMatching(/order-updates.*retention\.ms=2592000000/)],
        });
        expect(JSON.stringify(state)).toMatch(
          /would delete records older than 7 days, and `tidemark topics apply` leaves it/,
        );
        await applyTopics(admin, await planTopics(admin, topicSpecs(names)), systemClock);
        expect(await settingOf(admin, names.updates, 'retention.ms')).toBe(String(30 * dayMs));
        expect(await checkTopics(kafkaDeps, options, names, 30), 'it is the plan').toEqual({
          ...asPlanned,
          doubts: expect.arrayContaining([expect.stringMatching(/watermarks.*records go earlier than planned/)]),
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
      ['a limit by size', 'results', { 'retention.bytes': '1000000' }, /records go by the size/],
      [
        'compacted updates',
        'updates',
        { 'cleanup.policy': 'compact' },
        /would delete records older than its retention/,
      ],
      ['a state topic that deletes', 'state', { 'cleanup.policy': 'compact,delete' }, /other records go than planned/],
      ['smaller records', 'updates', { 'max.message.bytes': '1000' }, /a record that is larger is refused/],
      ['more replicas in step than there are', 'updates', { 'min.insync.replicas': '2' }, /nothing can be written/],
    ])('%s is a doubt, and no reason to be unready', async (_, topic, settings, doubt) => {
      const names = await freshTopics(brokers);
      const planned = topicSpecs(names).find(({ name }) => name === names[topic])?.settings ?? {};
      await withAdmin(kafkaDeps, options, (admin) => setOn(admin, names[topic], { ...planned, ...settings }));
      await eventually(async () =>
        expect(await checkTopics(kafkaDeps, options, names)).toEqual({
          ...asPlanned,
          doubts: [expect.stringMatching(doubt)],
        }),
      );
    });
  });
});
