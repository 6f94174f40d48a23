import type { Cleanup } from './cleanup.ts';
import { startCommandingService } from './commanding-service.ts';
import { placeUnknown } from './measure-reconcile.ts';
import { loadAt, settle } from './measure-service.ts';
import { startSandboxProcess } from './sandbox-process.ts';
import { startServiceProcess } from './service-process.ts';
import type { Stack } from './stack.ts';

export interface StreamCostFigures {
  /** Updates a second as fast as the service takes them, each way measured twice, in turn. */
  readonly withoutPerSecond: readonly number[];
  readonly withPerSecond: readonly number[];
  /** Of the means. Below 0: commands cost something. */
  readonly changePercent: number;
}

const rounds = 2;

/**
 * The rate of the stream with commands off, and with the journal, the reconciler and a thousand
 * commands that it watches.
 */
export async function measureStreamCost(cleanup: Cleanup, stack: Stack, seconds: number): Promise<StreamCostFigures> {
  const rates = { without: [] as number[], with: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    rates.without.push(await rateOf(cleanup, stack, seconds, false));
    rates.with.push(await rateOf(cleanup, stack, seconds, true));
  }
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const changePercent = Math.round((sum(rates.with) / sum(rates.without) - 1) * 1000) / 10;
  return { withoutPerSecond: rates.without, withPerSecond: rates.with, changePercent };
}

async function rateOf(cleanup: Cleanup, stack: Stack, seconds: number, commands: boolean): Promise<number> {
  const sandbox = await startSandboxProcess(cleanup, { openOrders: 1000, knownOrders: 1000 });
  const start = async () => {
    if (!commands)
      return startServiceProcess(cleanup, stack, sandbox, { part: 'cost', env: { TIDEMARK_HTTP_PORT: '0' } });
    const commanding = await startCommandingService(cleanup, stack, sandbox, { part: 'cost' });
    await placeUnknown(commanding, sandbox, 0);
    return commanding.service;
  };
  const service = await start();
  const watched = { stack, sandbox, service };
  const { publishedPerSecond } = await loadAt(watched, 'max', seconds);
  await settle(watched);
  await service.stop();
  await sandbox.stop();
  return publishedPerSecond;
}
