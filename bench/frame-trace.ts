import { percentile } from './percentile.ts';

/** An event of Chromium's own trace, as far as it is read here. Times are microseconds. */
export interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  /** Of the processor: without the time in which the thread waited for one. */
  readonly tdur?: number;
}

export interface FrameFigures {
  readonly frames: number;
  /**
   * Of our code and its garbage collection on the page's main thread, from one frame to the next.
   */
  readonly scriptMsP50: number;
  readonly scriptMsP95: number;
  readonly scriptMsHighest: number;
  /** From the start of one frame to the next: 16.7 where none was dropped. */
  readonly intervalMsP50: number;
  readonly intervalMsP95: number;
  /** Share of the main thread's time, by what it went to. */
  readonly shares: Readonly<Record<string, number>>;
}

const script = new Set([
  'FunctionCall',
  'RunMicrotasks',
  'EvaluateScript',
  'TimerFire',
  'FireAnimationFrame',
  'MinorGC',
  'MajorGC',
]);
const drawing: Readonly<Record<string, string>> = {
  UpdateLayoutTree: 'style',
  Layout: 'layout',
  PrePaint: 'paint',
  Paint: 'paint',
  Layerize: 'paint',
  Commit: 'paint',
};

/** Categories that have to be traced for `framesOf`. */
export const traceCategories = ['devtools.timeline', 'toplevel', 'v8'];

/** The cost of each frame, by the trace of a page that asks for every frame. */
export function framesOf(events: readonly TraceEvent[]): FrameFigures {
  const main = mainThreadOf(events);
  const frames = main.filter(({ name }) => name === 'FireAnimationFrame').map(({ ts }) => ts);
  const [first = 0, last = 0] = [frames[0], frames.at(-1)];
  const spent = outermost(main.filter(({ name, ts }) => script.has(name) && ts >= first && ts < last));
  const costs = new Array<number>(Math.max(0, frames.length - 1)).fill(0);
  let frame = 0;
  for (const event of spent) {
    while (frame + 1 < costs.length && event.ts >= (frames[frame + 1] ?? Number.POSITIVE_INFINITY)) frame += 1;
    costs[frame] = (costs[frame] ?? 0) + costOf(event) / 1000;
  }
  const intervals = frames.slice(1).map((ts, at) => (ts - (frames[at] ?? 0)) / 1000);
  const shares: Record<string, number> = { script: share(spent, last - first) };
  for (const kind of new Set(Object.values(drawing))) {
    const of = main.filter(({ name, ts }) => drawing[name] === kind && ts >= first && ts < last);
    shares[kind] = share(outermost(of), last - first);
  }
  return {
    frames: frames.length,
    scriptMsP50: percentile(costs, 0.5),
    scriptMsP95: percentile(costs, 0.95),
    scriptMsHighest: Math.max(0, ...costs),
    intervalMsP50: percentile(intervals, 0.5),
    intervalMsP95: percentile(intervals, 0.95),
    shares,
  };
}

/** Whole events of the thread that draws frames, in the order of time. */
function mainThreadOf(events: readonly TraceEvent[]): TraceEvent[] {
  const counts = new Map<string, number>();
  for (const { name, pid, tid } of events)
    if (name === 'FireAnimationFrame') counts.set(`${pid} ${tid}`, (counts.get(`${pid} ${tid}`) ?? 0) + 1);
  const [most] = [...counts].sort((a, b) => b[1] - a[1]);
  return events
    .filter(({ ph, pid, tid }) => ph === 'X' && `${pid} ${tid}` === most?.[0])
    .sort((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0));
}

/** Without those that lie within another one. */
function outermost(sorted: readonly TraceEvent[]): TraceEvent[] {
  let end = 0;
  return sorted.filter(({ ts, dur = 0 }) => {
    if (ts < end) return false;
    end = ts + dur;
    return true;
  });
}

function share(events: readonly TraceEvent[], micros: number): number {
  return events.reduce((sum, event) => sum + costOf(event), 0) / Math.max(1, micros);
}

function costOf({ dur = 0, tdur = dur }: TraceEvent): number {
  return tdur;
}
