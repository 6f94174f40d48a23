import { Session } from 'node:inspector/promises';
import { SimulatedWorld } from '../simulation/simulated-world.ts';
import { CommandRig, placeEquity, unknown } from '../support/commands/command-rig.ts';
import { silentLog } from '../support/runs/silent-log.ts';

/** Files of src/, without that prefix, and how many of their functions ran. */
type FilesRun = ReadonlyMap<string, number>;

type Counts = ReadonlyMap<string, number>;

const root = new URL('../../src/', import.meta.url).href;
/** The platform is no part of the way through the service. */
const isOurs = (file: string): boolean => !file.startsWith('sandbox/');

/** V8's own counts of what ran since the last question. */
class Coverage {
  private readonly session = new Session();

  async start(): Promise<void> {
    this.session.connect();
    await this.session.post('Profiler.enable');
    await this.session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await this.take();
  }

  /** Calls of each function, by "file function@offset". */
  async take(): Promise<Counts> {
    const { result } = await this.session.post('Profiler.takePreciseCoverage');
    const counts = new Map<string, number>();
    for (const { url, functions } of result) {
      if (!url.startsWith(root)) continue;
      const file = url.slice(root.length);
      for (const { functionName, ranges } of functions) {
        const [range] = ranges;
        if (range !== undefined && range.count > 0)
          counts.set(`${file} ${functionName}@${range.startOffset}`, range.count);
      }
    }
    return counts;
  }

  stop(): void {
    this.session.disconnect();
  }
}

function filesOf(keys: Iterable<string>): FilesRun {
  const files = new Map<string, number>();
  for (const key of keys) {
    const file = key.slice(0, key.indexOf(' '));
    if (isOurs(file)) files.set(file, (files.get(file) ?? 0) + 1);
  }
  return files;
}

const windowMs = 1_500;
const attempts = 12;

interface Window {
  readonly counts: Counts;
  /** Rows of the log that it wrote: updates, and heartbeats too. */
  readonly rows: number;
}

/**
 * The last moments of a run that is the same each time until they begin:
 * with one step of the market, or without.
 */
async function lastWindow(seed: number, quietMs: number, withChange: boolean): Promise<Window> {
  const world = new SimulatedWorld({ seed, log: silentLog });
  world.startIn(0);
  await world.clock.advance(60_000);
  for (let warmUp = 0; warmUp < 40; warmUp += 1) {
    world.platform.step();
    await world.clock.advance(500);
  }
  await world.clock.advance(20_000 + quietMs);
  const coverage = new Coverage();
  await coverage.start();
  const before = world.database.log.length;
  if (withChange) world.platform.step();
  await world.clock.advance(windowMs);
  const counts = await coverage.take();
  coverage.stop();
  return { counts, rows: world.database.log.length - before };
}

/**
 * What one change of the market makes the simulated service do, from its frame
 * to the topic: what runs more often than in the same moments without it.
 * Throws where no attempt shows an update alone.
 */
export async function filesOfOneUpdate(seed = 3): Promise<FilesRun> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const quietMs = attempt * windowMs;
    const without = await lastWindow(seed, quietMs, false);
    if (without.rows > 0) continue;
    const { counts, rows } = await lastWindow(seed, quietMs, true);
    if (rows !== 1) continue;
    return filesOf([...counts].filter(([key, count]) => count > (without.counts.get(key) ?? 0)).map(([key]) => key));
  }
  throw new Error(`seed ${seed} shows no update alone: choose another one`);
}

/**
 * One place whose answer said nothing, from its submission to
 * the verdict that a committed update brings.
 */
export async function filesOfOnePlace(): Promise<FilesRun> {
  const rig = await CommandRig.leading();
  const coverage = new Coverage();
  await coverage.start();
  rig.entry.scripts.push({ result: unknown });
  const { commandId } = await rig.send(placeEquity);
  const sent = await coverage.take();
  rig.land(commandId);
  await rig.clock.advance(10);
  const settled = await coverage.take();
  coverage.stop();
  return filesOf(new Set([...sent.keys(), ...settled.keys()]));
}
