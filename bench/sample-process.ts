import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** A process as /proc shows it (proc(5)). */
export interface ProcessUsage {
  /** User and system, with those children that have ended and were waited for. */
  readonly cpuSeconds: number;
  readonly rssMb: number;
  /** The highest since it started. */
  readonly peakRssMb: number;
}

/** USER_HZ: 100 in every Linux that user space has ever seen. */
const ticksPerSecond = 100;

/** Undefined when there is no such process (any more), or no /proc. */
export function processUsage(pid: number): ProcessUsage | undefined {
  try {
    const { fields } = readStat(pid);
    const ticks = [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return {
      cpuSeconds: ticks / ticksPerSecond,
      rssMb: megabytes(status, 'VmRSS'),
      peakRssMb: megabytes(status, 'VmHWM'),
    };
  } catch {
    return undefined;
  }
}

/**
 * CPU that all processes of the machine have taken since it started, stolen time included: what a
 * hypervisor gave to others was missing here.
 */
export function machineCpuSeconds(): number {
  if (!existsSync('/proc/stat')) return 0;
  // user, nice, system, idle, iowait, irq, softirq, steal
  const ticks = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.trim().split(/\s+/).slice(1).map(Number) ?? [];
  return [0, 1, 2, 5, 6, 7].reduce((sum, i) => sum + (ticks[i] ?? 0), 0) / ticksPerSecond;
}

/**
 * A server and its children as one. Memory is the proportional share (Pss): Postgres' backends
 * would count its shared buffers once each. Its peak is that of the samples taken here.
 */
export class ProcessTree {
  private peakMb = 0;
  private readonly root: number;

  constructor(root: number) {
    this.root = root;
  }

  usage(): ProcessUsage | undefined {
    const own = processUsage(this.root);
    if (own === undefined) return undefined;
    let cpuSeconds = own.cpuSeconds;
    let rssMb = proportionalMb(this.root);
    for (const pid of childrenOf(this.root)) {
      cpuSeconds += processUsage(pid)?.cpuSeconds ?? 0;
      rssMb += proportionalMb(pid);
    }
    this.peakMb = Math.max(this.peakMb, rssMb);
    return { cpuSeconds, rssMb, peakRssMb: this.peakMb };
  }
}

function childrenOf(parent: number): number[] {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readStat(pid).parent === parent;
      } catch {
        return false;
      }
    });
}

/**
 * `fields` begins behind the name, which may itself hold spaces and
 * brackets: the state is 0, the parent 1, utime 11.
 */
function readStat(pid: number): { parent: number; fields: string[] } {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(fields[1]), fields };
}

function proportionalMb(pid: number): number {
  try {
    return megabytes(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'), 'Pss');
  } catch {
    return 0;
  }
}

function megabytes(text: string, field: string): number {
  const match = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text);
  return Math.round(Number(match?.[1] ?? 0) / 102.4) / 10;
}
