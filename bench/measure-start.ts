import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Bench, Figure } from './figure.ts';
import { withService } from './with-service.ts';

const runs = 5;

/** Until every source is live, on an empty database; and what a command costs that does nothing. */
export async function measureStart(bench: Bench): Promise<Figure[]> {
  const liveAfterMs = await withService(bench, { part: 'start' }, async ({ service }) => service.liveAfterMs);
  return [
    { name: 'ms from start to live', value: liveAfterMs, atMost: 2500 },
    { name: 's of processor for tidemark --help', value: helpCpuSeconds(bench.build.root), atMost: 0.15 },
  ];
}

/**
 * Seconds of processor time of `tidemark --help` of the checkout at `root`, the middle of five
 * runs: by the shell, as Node has no times of ended children.
 */
function helpCpuSeconds(root: string): number {
  const program = join(root, 'bin', 'tidemark.js');
  const script = `TIMEFORMAT='%U %S'; time "$0" "$1" --help >/dev/null`;
  const seconds = Array.from({ length: runs }, () => {
    const said = execFileSync('bash', ['-c', `{ ${script}; } 2>&1`, process.execPath, program], { encoding: 'utf8' });
    return said
      .trim()
      .split(/\s+/)
      .reduce((sum, part) => sum + Number(part), 0);
  });
  return seconds.sort((a, b) => a - b)[runs >> 1] ?? Number.NaN;
}
