import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const runs = 5;

/**
 * Seconds of processor time of `tidemark --help` of the checkout at `root`, the middle of five
 * runs: by the shell, as Node has no times of ended children.
 */
export function helpCpuSeconds(root: string): number {
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
