import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bench, Figure } from './figure.ts';
import { loadAt, settle } from './measure-service.ts';
import { type CpuProfile, shareTime } from './profile-shares.ts';
import { withService } from './with-service.ts';

const seconds = 20;

/**
 * Where the time of an update goes, at the rate that the service takes by itself. Profiling costs
 * some of it, so the rate is no measure here.
 */
export async function measureProfile(bench: Bench): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-profile-'));
  bench.cleanup.add(() => rm(folder, { recursive: true, force: true }));
  const nodeArgs = ['--cpu-prof', `--cpu-prof-dir=${folder}`];
  const { figures, untilMicros } = await withService(bench, { part: 'profile', nodeArgs }, async (watched) => {
    const found = await loadAt(watched, 'max', seconds);
    const endMicros = Number(process.hrtime.bigint() / 1000n);
    await settle(watched);
    return { figures: found, untilMicros: endMicros };
  });
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
  const all = { name: 'us of the service an update, profiled', value: cpuMicrosPerUpdate };
  const parts = [...shares]
    .sort(([, a], [, b]) => b - a)
    .map(([part, micros]) => ({
      name: `us an update: ${part}`,
      value: (micros / total) * cpuMicrosPerUpdate,
      note: `${((micros / total) * 100).toFixed(1)} %`,
    }));
  return [all, ...parts];
}
