import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cleanup } from './cleanup.ts';
import { loadAt, settle } from './measure-service.ts';
import { type CpuProfile, shareTime } from './profile-shares.ts';
import { startSandboxProcess } from './sandbox-process.ts';
import { startServiceProcess } from './service-process.ts';
import type { Stack } from './stack.ts';

export interface ProfileFigures {
  readonly publishedPerSecond: number;
  /** CPU microseconds of the service for one update, all of it, by /proc. */
  readonly cpuMicrosPerUpdate: number;
  /** The same by the code that it was spent in, dearest first. */
  readonly parts: readonly { readonly part: string; readonly microsPerUpdate: number; readonly percent: number }[];
}

/**
 * Where the time of an update goes, at the rate that the service takes by itself. Profiling costs
 * some of it, so the rate is no measure here.
 */
export async function measureProfile(cleanup: Cleanup, stack: Stack, seconds: number): Promise<ProfileFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-profile-'));
  cleanup.add(() => rm(folder, { recursive: true, force: true }));
  const sandbox = await startSandboxProcess(cleanup, { openOrders: 1000, knownOrders: 1000 });
  const nodeArgs = ['--cpu-prof', `--cpu-prof-dir=${folder}`];
  const service = await startServiceProcess(cleanup, stack, sandbox, { part: 'profile', nodeArgs });
  const watched = { stack, sandbox, service };
  const figures = await loadAt(watched, 'max', seconds);
  const untilMicros = Number(process.hrtime.bigint() / 1000n);
  await settle(watched);
  await service.stop();
  await sandbox.stop();
  // `serve` starts itself anew with its own sizes of the heap, and leaves
  // the profile of its first moments behind.
  const file = (await readdir(folder)).sort().at(-1) ?? '';
  const profile = JSON.parse(await readFile(join(folder, file), 'utf8')) as CpuProfile;
  // Both processes count from the same boot, so the window can be told by our clock.
  const shares = shareTime(profile, { fromMicros: untilMicros - figures.seconds * 1e6, untilMicros });
  shares.delete('idle');
  const total = [...shares.values()].reduce((sum, micros) => sum + micros, 0);
  if (total === 0) throw new Error('the profile of the service shows nothing of the time that was measured');
  const cpuMicrosPerUpdate = figures.processes.find(({ name }) => name === 'service')?.cpuMicrosPerUpdate ?? 0;
  const parts = [...shares]
    .sort(([, a], [, b]) => b - a)
    .map(([part, micros]) => ({
      part,
      microsPerUpdate: Math.round((micros / total) * cpuMicrosPerUpdate * 10) / 10,
      percent: Math.round((micros / total) * 1000) / 10,
    }));
  return { publishedPerSecond: figures.publishedPerSecond, cpuMicrosPerUpdate, parts };
}
