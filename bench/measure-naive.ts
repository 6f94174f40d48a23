import { systemClock } from '../src/runtime/clock.ts';
import { systemRandom } from '../src/runtime/random.ts';
import { kafkaDefaults } from '../src/service/log/kafka-options.ts';
import { applyTopics, planTopics } from '../src/service/log/plan-topics.ts';
import { withAdmin } from '../src/service/log/with-admin.ts';
import { type Child, startChild } from './child.ts';
import type { Bench, Figure } from './figure.ts';
import { platformEnv, startSandboxProcess } from './sandbox-process.ts';
import { benchLog, type Stack } from './stack.ts';

interface Progress {
  readonly received: number;
  readonly acknowledged: number;
}

export const naiveName = 'the naive service, updates/s';
const warmUpMs = 5_000;
const seconds = 20;
const partitions = 12;

/**
 * What the naive service gets through when there is always something waiting for it: no less than
 * its highest sustainable rate, and without the lag that this leaves. The load is twice what it
 * managed while warming up, so that making it takes little of the machine.
 */
export async function measureNaive({ cleanup, stack }: Bench): Promise<Figure[]> {
  const sandbox = await startSandboxProcess(cleanup, { openOrders: 1000, knownOrders: 1000 });
  const database = await stack.makeDatabase('naive');
  const topic = `bench-naive-${systemRandom.uuid().slice(0, 8)}`;
  await makeTopic(stack, topic);
  const naive = await startChild(cleanup, {
    name: 'naive',
    script: 'bench/naive-service.ts',
    env: {
      ...platformEnv(sandbox),
      DATABASE_URL: database.url,
      KAFKA_BROKERS: stack.kafka.brokers.join(','),
      NAIVE_TOPIC: topic,
    },
  });
  await naive.firstJson;
  await sandbox.setRate(1000);
  const warm = await rateOver(naive, warmUpMs);
  await sandbox.setRate(Math.round(warm * 2));
  await systemClock.sleep(1000);
  const updatesPerSecond = Math.round(await rateOver(naive, seconds * 1000));
  await naive.stop();
  await sandbox.stop();
  await database.drop();
  return [{ name: naiveName, value: updatesPerSecond, note: 'always busy' }];
}

async function rateOver(naive: Child, ms: number): Promise<number> {
  const [startMs, before] = [performance.now(), progressOf(naive).acknowledged];
  await systemClock.sleep(ms);
  return ((progressOf(naive).acknowledged - before) * 1000) / (performance.now() - startMs);
}

function progressOf(naive: Child): Progress {
  return naive.lastJson() as Progress;
}

async function makeTopic(stack: Stack, name: string): Promise<void> {
  const options = { ...kafkaDefaults, brokers: stack.kafka.brokers };
  const specs = [{ name, partitions, settings: {} }];
  await withAdmin({ clock: systemClock, log: benchLog }, options, async (admin) =>
    applyTopics(admin, await planTopics(admin, specs), systemClock),
  );
}
