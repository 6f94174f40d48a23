import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Bench, Figure } from './figure.ts';
import type { WritePathFigures } from './write-path.ts';

const batches = [500, 40, 10];
const seconds = 10;

/** `bench/write-path.ts` of the build in its own process, with batches as at high and low rates. */
export async function measureStatement({ cleanup, stack, build }: Bench): Promise<Figure[]> {
  const ended = new AbortController();
  cleanup.add(async () => ended.abort());
  const figures: Figure[] = [];
  for (const rows of batches) {
    const flags = ['--url', stack.postgres.url, '--seconds', String(seconds), '--batch-rows', String(rows)];
    const run = { cwd: build.root, timeout: 120_000, signal: ended.signal };
    const { stdout } = await promisify(execFile)(process.execPath, ['bench/write-path.ts', ...flags], run);
    const { rowsPerSecond, nodeMicrosPerRow, batchP99Ms, walBytesPerRow, logBytesPerRow } = JSON.parse(
      stdout,
    ) as WritePathFigures;
    figures.push(
      { name: `rows/s in batches of ${rows}`, value: rowsPerSecond },
      { name: `us of Node a row in batches of ${rows}`, value: nodeMicrosPerRow },
      { name: `ms p99 of a batch of ${rows}`, value: batchP99Ms },
      // A build before these figures gives none.
      ...(walBytesPerRow === undefined
        ? []
        : [
            { name: `bytes of write-ahead log a row in batches of ${rows}`, value: walBytesPerRow },
            { name: `bytes of the log a row in batches of ${rows}`, value: logBytesPerRow },
          ]),
    );
  }
  return figures;
}
