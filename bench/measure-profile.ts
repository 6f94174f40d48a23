import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bench, Figure } from './figure.ts';
import { loadAt, settle } from './measure-service.ts';
import { type CpuProfile, shareTime } from './profile-shares.ts';
import { withService } from './with-service.ts';

const seconds = 20;
const rates = [5000, 'max'] as const;

/**
 * Where the time of an update goes, and how long each part runs at a stretch, at a middle rate and
 * at the highest. Profiling costs some of it, so the rate is no measure here.
 */
export async function measureProfile(bench: Bench): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-profile-'));
  bench.cleanup.add(() => rm(folder, { recursive: true, force: true }));
  // A profiled service does not start itself anew, so it is given the flags of bin/flags.js.
  const heap = ['--max-semi-space-size=8', '--max-old-space-size=1024', '--heap-growing-percent=100'];
  const nodeArgs = [...heap, '--cpu-prof', `--cpu-prof-dir=${folder}`];
  const loads = await withService(bench, { part: 'profile', nodeArgs }, async (watched) => {
    const found = [];
    for (const rate of rates) {
      const figures = await loadAt(watched, rate, seconds);
      found.push({ rate, figures, untilMicros: Number(process.hrtime.bigint() / 1000n) });
      await settle(watched);
    }
    return found;
  });
  // The service's own has the most samples: what starts it, and what makes its page, leave one too.
  const texts = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')));
  const profiles = texts.map((text) => JSON.parse(text) as CpuProfile);
  const profile = profiles.reduce((most, next) => (next.samples.length > most.samples.length ? next : most));
  return loads.flatMap(({ rate, figures, untilMicros }) => {
    // Both processes count from the same boot.
    const shares = shareTime(profile, { fromMicros: untilMicros - figures.seconds * 1e6, untilMicros });
    shares.delete('idle');
    const parts = [...shares].sort(([, a], [, b]) => b.total - a.total);
    const all = parts.reduce((sum, [, { total }]) => sum + total, 0);
    if (all === 0) throw new Error('the profile of the service shows nothing of the time that was measured');
    const micros = figures.processes.find(({ name }) => name === 'service')?.cpuMicrosPerUpdate ?? 0;
    return [
      { name: `us of the service an update at ${rate}, profiled`, value: micros },
      ...parts.map(([part, { total, longest }]) => ({
        name: `us an update at ${rate}: ${part}`,
        value: (total / all) * micros,
        note: `${((total / all) * 100).toFixed(1)} %, at most ${(longest / 1000).toFixed(1)} ms at a stretch`,
      })),
    ];
  });
}
