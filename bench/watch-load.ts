import { systemClock } from '../src/runtime/clock.ts';
import { judgeLag, type LagSample, type LagVerdict } from './lag.ts';
import { type Sample, sumOf } from './prometheus-text.ts';
import { machineCpuSeconds, ProcessTree, type ProcessUsage, processUsage } from './sample-process.ts';
import type { SandboxProcess } from './sandbox-process.ts';
import type { ServiceProcess } from './service-process.ts';
import { onServer, type Stack } from './stack.ts';

export interface ProcessFigures {
  readonly name: string;
  readonly cpuSeconds: number;
  /** Of one core. */
  readonly cpuPercent: number;
  readonly cpuMicrosPerUpdate: number;
  readonly startRssMb: number;
  readonly middleRssMb: number;
  readonly endRssMb: number;
  readonly peakRssMb: number;
}

export interface LoadFigures {
  readonly seconds: number;
  /** Records that Kafka acknowledged on the log topic, a second. */
  readonly publishedPerSecond: number;
  readonly lag: LagVerdict;
  readonly processes: readonly ProcessFigures[];
  /**
   * Of one core, by everybody else on the machine meanwhile. Some percent is the machine itself;
   * more, and the figures are not only ours.
   */
  readonly elsewherePercent: number;
  /** Of Postgres' write-ahead log. */
  readonly walBytesPerUpdate: number;
}

export interface Watched {
  readonly stack: Stack;
  readonly sandbox: SandboxProcess;
  readonly service: ServiceProcess;
  /** What connections that the platform cut took with them, see `untilCaughtUp`. */
  lost?: Lost;
}

interface Lost {
  readonly events: number;
  readonly reconnects: number;
}

interface Counts {
  readonly atMs: number;
  readonly published: number;
  /** Emitted, and not settled by ingest or not acknowledged by Kafka. */
  readonly lag: number;
  readonly reconnects: number;
}

export interface WatchOptions {
  readonly seconds: number;
  /**
   * A scrape costs the service some milliseconds in one piece: seldom where latency is measured,
   * often where the lag has to show a trend.
   */
  readonly sampleEveryMs: number;
}

/**
 * Watches a load that is already running. The lag is told by both ends: the platform's count of
 * events that it sent, less those that ingest has settled (the service's counter of observations),
 * plus updates applied and not yet acknowledged by Kafka.
 */
export async function watchLoad(
  watched: Watched,
  { seconds, sampleEveryMs }: WatchOptions,
): Promise<{ figures: LoadFigures; before: readonly Sample[]; after: readonly Sample[] }> {
  const meters = metersOf(watched);
  const walBefore = await walBytes(watched);
  const before = await watched.service.scrape();
  const first = await count(watched);
  const usages = meters.map(({ read }) => [read()]);
  const machineBefore = machineCpuSeconds() - ownCpuSeconds();
  const lags: LagSample[] = [];
  let last = first;
  while (last.atMs - first.atMs < seconds * 1000) {
    await systemClock.sleep(sampleEveryMs - ((performance.now() - first.atMs) % sampleEveryMs));
    last = await count(watched);
    lags.push({ atMs: last.atMs, lag: last.lag });
    for (const [i, { read }] of meters.entries()) usages[i]?.push(read());
  }
  const machineSeconds = machineCpuSeconds() - ownCpuSeconds() - machineBefore;
  const after = await watched.service.scrape();
  const elapsed = (last.atMs - first.atMs) / 1000;
  const published = last.published - first.published;
  const publishedPerSecond = published / elapsed;
  const processes = meters.map(({ name }, i) => figuresOf(name, usages[i] ?? [], elapsed, published));
  const measuredSeconds = processes.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const figures = {
    seconds: round(elapsed),
    publishedPerSecond: Math.round(publishedPerSecond),
    lag: judgeLag(lags, publishedPerSecond),
    processes,
    elsewherePercent: Math.max(0, Math.round(((machineSeconds - measuredSeconds) / elapsed) * 100)),
    walBytesPerUpdate: Math.round(((await walBytes(watched)) - walBefore) / Math.max(1, published)),
  };
  return { figures, before, after };
}

/**
 * How long a lag has to stand still to be taken for lost: rows of an audit may stand before it in
 * the queue, on a busy machine for most of a minute.
 */
const stillMs = 60_000;

/**
 * Resolves when nothing that was emitted waits any more. A rate far too high for a minute fills the
 * platform's buffer until it cuts us off as a slow reader: what was in there is read from the lists
 * instead, and never settles as events of the stream, so from then on it doesn't count.
 */
export async function untilCaughtUp(watched: Watched, withinMs = 300_000): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  let fellMs = performance.now();
  for (const startMs = performance.now(); performance.now() - startMs < withinMs; await systemClock.sleep(50)) {
    const { lag, reconnects } = await count(watched);
    if (lag <= 0) return;
    if (lag < least) {
      least = lag;
      fellMs = performance.now();
    }
    const { events, reconnects: before } = watched.lost ?? { events: 0, reconnects: 0 };
    if (performance.now() - fellMs > stillMs && reconnects > before) {
      watched.lost = { events: events + lag, reconnects };
      return;
    }
  }
  throw new Error('the service did not catch up');
}

/** Of a load that is counted by its caller, such as commands. */
export interface Spent {
  /** User and system, by process; `load` is this one, with what it measures by. */
  readonly cpuSeconds: ReadonlyMap<string, number>;
  readonly walBytes: number;
}

/** What all processes spend while `work` is done. */
export async function spentOn(watched: Watched, work: () => Promise<void>): Promise<Spent> {
  const meters = [
    ...metersOf(watched).map(({ name, read }) => ({ name, read: () => read()?.cpuSeconds ?? 0 })),
    { name: 'load', read: ownCpuSeconds },
  ];
  const [before, walBefore] = [meters.map(({ read }) => read()), await walBytes(watched)];
  await work();
  const cpuSeconds = new Map<string, number>();
  // A cluster has several processes of one name.
  for (const [i, { name, read }] of meters.entries())
    cpuSeconds.set(name, (cpuSeconds.get(name) ?? 0) + read() - (before[i] ?? 0));
  return { cpuSeconds, walBytes: (await walBytes(watched)) - walBefore };
}

async function walBytes({ stack }: Watched): Promise<number> {
  const [row] = await onServer<{ bytes: string }>(
    stack.postgres.url,
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes`,
  );
  return Number(row?.bytes);
}

async function count(watched: Watched): Promise<Counts> {
  const { sandbox, lost } = watched;
  // The platform last: what it sent meanwhile counts as lag, never against it.
  const samples = await watched.service.scrape();
  const eventsSent = await sandbox.eventsSent();
  const settled = sumOf(samples, 'tidemark_observations_total', { cause: 'stream' });
  const applied = sumOf(samples, 'tidemark_observations_total', { result: 'applied' });
  const published = sumOf(samples, 'tidemark_publish_records_total', { topic: 'updates', result: 'acknowledged' });
  const lag = eventsSent - (lost?.events ?? 0) - settled + (applied - published);
  const reconnects = sumOf(samples, 'tidemark_source_reconnects_total');
  return { atMs: performance.now(), published, lag, reconnects };
}

interface Meter {
  readonly name: string;
  readonly read: () => ProcessUsage | undefined;
}

function metersOf({ stack, sandbox, service }: Watched): Meter[] {
  const meters: Meter[] = [
    { name: 'service', read: () => processUsage(service.child.pid) },
    { name: 'sandbox', read: () => processUsage(sandbox.child.pid) },
  ];
  // Servers that were given or run in a container are not ours to look into.
  if (stack.postgres.pid !== undefined) {
    const tree = new ProcessTree(stack.postgres.pid);
    meters.push({ name: 'postgres', read: () => tree.usage() });
  }
  for (const { pid } of stack.kafka.nodes) meters.push({ name: 'kafka', read: () => processUsage(pid) });
  return meters;
}

function figuresOf(
  name: string,
  usages: readonly (ProcessUsage | undefined)[],
  seconds: number,
  updates: number,
): ProcessFigures {
  const [first, middle, last] = [usages[0], usages[usages.length >> 1], usages.at(-1)];
  const cpuSeconds = (last?.cpuSeconds ?? 0) - (first?.cpuSeconds ?? 0);
  return {
    name,
    cpuSeconds: round(cpuSeconds),
    cpuPercent: Math.round((cpuSeconds / seconds) * 100),
    cpuMicrosPerUpdate: round((cpuSeconds * 1e6) / Math.max(1, updates)),
    startRssMb: Math.round(first?.rssMb ?? 0),
    middleRssMb: Math.round(middle?.rssMb ?? 0),
    endRssMb: Math.round(last?.rssMb ?? 0),
    peakRssMb: Math.round(last?.peakRssMb ?? 0),
  };
}

function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
