import { freePort } from '../src/demo/devstack/free-port.ts';
import { type Child, startChild } from './child.ts';
import type { Cleanup } from './cleanup.ts';
import { loadAt, settle } from './measure-service.ts';
import { startSandboxProcess } from './sandbox-process.ts';
import { startServiceProcess } from './service-process.ts';
import type { Stack } from './stack.ts';
import type { LoadFigures, Watched } from './watch-load.ts';

export interface ConsolesFigures {
  readonly consoles: number;
  readonly rate: number;
  /** Of the service's processor, for an update: each way measured three times, in turn. */
  readonly withoutMicros: readonly number[];
  readonly withMicros: readonly number[];
  /**
   * Of the medians: below 1 by what the open consoles take from the highest rate
   * of a service that has a core for itself.
   */
  readonly share: number;
  /**
   * Readers that were cut because they took too little. 0, or the figures are of fewer consoles.
   */
  readonly ended: number;
}

const consoles = 10;
const rate = 5_000;
const rounds = 3;

/**
 * The cost of ten open consoles for the service, at 5,000 updates
 * a second: a rate that one page can show.
 */
export async function measureConsoles(cleanup: Cleanup, stack: Stack, seconds: number): Promise<ConsolesFigures> {
  const sandbox = await startSandboxProcess(cleanup, { openOrders: 1000, knownOrders: 1000 });
  const port = await freePort();
  const service = await startServiceProcess(cleanup, stack, sandbox, {
    part: 'consoles',
    env: { TIDEMARK_HTTP_PORT: String(port) },
  });
  const watched: Watched = { stack, sandbox, service };
  const micros = { without: [] as number[], with: [] as number[] };
  let ended = 0;
  // The service is still being compiled at first.
  await loadAt(watched, rate, seconds);
  for (let round = 0; round < rounds; round += 1) {
    micros.without.push(microsOf(await loadAt(watched, rate, seconds)));
    const readers = await openReaders(cleanup, `http://127.0.0.1:${port}`);
    micros.with.push(microsOf(await loadAt(watched, rate, seconds)));
    ended += (readers.lastJson() as { readonly ended: number }).ended;
    await readers.stop();
  }
  await settle(watched);
  await service.stop();
  await sandbox.stop();
  const share = Math.round((middleOf(micros.without) / middleOf(micros.with)) * 100) / 100;
  return { consoles, rate, withoutMicros: micros.without, withMicros: micros.with, share, ended };
}

async function openReaders(cleanup: Cleanup, address: string): Promise<Child> {
  const args = [address, String(consoles)];
  const readers = await startChild(cleanup, {
    name: 'stream-readers',
    script: 'bench/stream-readers.ts',
    args,
    env: {},
  });
  await readers.firstJson;
  return readers;
}

function microsOf({ processes }: LoadFigures): number {
  return processes.find(({ name }) => name === 'service')?.cpuMicrosPerUpdate ?? Number.NaN;
}

function middleOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
