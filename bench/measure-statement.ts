import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Bench, Figure } from './figure.ts';
import { measureWritePath, type WritePathFigures } from './write-path.ts';

const batches = [500, 40, 10];
const secondsOfBatch = 10;

/**
 * The statement of a batch alone, for as long as the service's highest rate: in ten seconds the
 * disk has not yet begun to write back what a minute leaves (43k rows/s against 33k).
 */
export async function measureBareWrites({ stack, real, seconds }: Bench): Promise<Figure[]> {
  // The orders that they update are made for one stream.
  const rows = real.rows.filter(({ head }) => head.stream === real.rows[0]?.head.stream);
  const { rowsPerSecond, payloadBytes } = await measureWritePath({ url: stack.postgres.url, seconds, rows });
  return [{ name: 'bare write path, rows/s', value: rowsPerSecond, note: `${payloadBytes} B a row` }];
}

/** `bench/write-path.ts` of the build in its own process, with batches as at high and low rates. */
export async function measureStatement({ cleanup, stack, build }: Bench): Promise<Figure[]> {
  const ended = new AbortController();
  cleanup.add(async () => ended.abort());
  const figures: Figure[] = [];
  for (const rows of batches) {
    const flags = ['--url', stack.postgres.url, '--seconds', String(secondsOfBatch), '--batch-rows', String(rows)];
    const run = { cwd: build.root, timeout: 120_000, signal: ended.signal };
    const { stdout } = await promisify(execFile)(process.execPath, ['bench/write-path.ts', ...flags], run);
    figures.push(...figuresOf(rows, JSON.parse(stdout)));
  }
  return figures;
}

/** An earlier build does not measure all of them. */
function figuresOf(rows: number, found: Partial<WritePathFigures>): Figure[] {
  const { rowsPerSecond, nodeMicrosPerRow, batchP99Ms, walBytesPerRow, logBytesPerRow } = found;
  return Object.entries({
    [`rows/s in batches of ${rows}`]: rowsPerSecond,
    [`us of Node a row in batches of ${rows}`]: nodeMicrosPerRow,
    [`ms p99 of a batch of ${rows}`]: batchP99Ms,
    [`bytes of write-ahead log a row in batches of ${rows}`]: walBytesPerRow,
    [`bytes of the log a row in batches of ${rows}`]: logBytesPerRow,
  }).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}
