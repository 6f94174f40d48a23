import { expect, inject, it, onTestFinished } from 'vitest';
import { checkKafka } from '../../../src/cli/doctor/check-kafka.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { freePort } from '../../../src/demo/devstack/free-port.ts';
import { startEmbeddedKafka } from '../../../src/demo/devstack/start-embedded-kafka.ts';
import { eventually } from '../../support/runs/poll.ts';
import { cacheDir } from '../../support/servers/cache-dir.ts';
import { kafkaDeps } from '../../support/servers/kafka-fixture.ts';
import { topicPrefix } from '../../support/servers/topics.ts';

async function examine(brokers: readonly string[]) {
  const loaded = loadConfig({ KAFKA_BROKERS: brokers.join(','), TIDEMARK_TOPIC_PREFIX: topicPrefix() }, () => '');
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return checkKafka(loaded.config, kafkaDeps);
}

async function kafka(options: { nodes?: number; advertisedPorts?: readonly number[] }) {
  const running = await startEmbeddedKafka(kafkaDeps, { cacheDir, ...options });
  onTestFinished(() => running.stop());
  return running;
}

it('names both addresses where a broker answers and sends clients to one where nobody is', async () => {
  const told = await freePort();
  const { brokers } = await kafka({ advertisedPorts: [told] });
  const [broker, cluster, topics] = await examine(brokers);
  expect(broker).toEqual({
    part: 'broker',
    verdict: 'fail',
    detail: expect.stringMatching(
      new RegExp(
        `^${brokers[0]} answers, and sends clients to 127\\.0\\.0\\.1:${told} for broker 1, which does not answer: connection refused`,
      ),
    ),
    fix: 'Start broker 1; if it runs, set its advertised.listeners to an address that this machine reaches.',
  });
  expect(cluster).toMatchObject({ part: 'kafka', verdict: 'warn', detail: '0 of 1 broker can be reached' });
  expect(topics).toMatchObject({ part: 'topics', verdict: 'fail', detail: expect.stringContaining('is missing') });
});

it('finds the broker that is away among those that answer, and still looks at the topics', async () => {
  const { brokers, nodes } = await kafka({ nodes: 2 });
  const [first = '', second = ''] = brokers;
  expect((await examine([first])).map(({ part, verdict }) => `${part} ${verdict}`).slice(0, 2)).toEqual([
    'kafka warn',
    'topics fail',
  ]);
  process.kill(nodes[1]?.pid ?? 0, 'SIGKILL');
  // The cluster may still send clients to it, or have noticed already: either way it is named.
  const findings = await eventually(async () => {
    const all = await examine(brokers);
    expect(all[0]).toMatchObject({
      part: 'broker',
      detail: expect.stringMatching(new RegExp(`${second}.* does not answer: `)),
    });
    return all;
  });
  expect(findings.filter(({ detail }) => detail.includes(second))).toHaveLength(1);
  expect(findings).toContainEqual(
    expect.objectContaining({ part: 'topics', detail: expect.stringContaining('order-updates.v1 is missing') }),
  );
});

it('says nothing of topics where no broker answers, and names each that does not', async () => {
  const ports = [await freePort(), await freePort()];
  const findings = await examine(ports.map((port) => `127.0.0.1:${port}`));
  expect(findings.map(({ part, verdict }) => [part, verdict])).toEqual([
    ['broker', 'fail'],
    ['broker', 'fail'],
  ]);
  for (const [index, { detail }] of findings.entries())
    expect(detail).toContain(`127.0.0.1:${ports[index]} of KAFKA_BROKERS`);
});

it('counts the brokers of a cluster that is well', async () => {
  const [cluster] = await examine(inject('kafkaBrokers'));
  expect(cluster).toMatchObject({
    part: 'kafka',
    verdict: 'warn',
    detail: expect.stringMatching(/^one broker answers/),
  });
});
