import { systemClock } from '../src/runtime/clock.ts';
import { platformSettings } from '../src/sandbox/describe-sandbox.ts';
import { type Child, startChild } from './child.ts';
import type { Bench, Figure } from './figure.ts';
import { startSandboxProcess } from './sandbox-process.ts';

interface Progress {
  readonly received: number;
  readonly acknowledged: number;
}

export const naiveName = 'the naive service, updates/s';
const warmUpMs = 5_000;
const seconds = 20;

/**
 * What the naive service gets through when there is always something waiting for it: no less than
 * its highest sustainable rate, and without the lag that this leaves. The load is twice what it
 * managed while warming up, so that making it takes little of the machine.
 */
export async function measureNaive({ cleanup, stack }: Bench): Promise<Figure[]> {
  const sandbox = await startSandboxProcess(cleanup, { openOrders: 1000, knownOrders: 1000 });
  const database = await stack.makeDatabase('naive');
  const naive = await startChild(cleanup, {
    name: 'naive',
    script: 'bench/naive-service.ts',
    env: {
      ...platformSettings(sandbox.description),
      DATABASE_URL: database.url,
      KAFKA_BROKERS: stack.kafka.brokers.join(','),
      NAIVE_TOPIC: await stack.makeTopic('naive'),
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
