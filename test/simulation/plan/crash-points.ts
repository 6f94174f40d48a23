import type { Host } from '../host.ts';

/**
 * Where in the life of a command its process may end. `asked`: the call has left it; `committed`:
 * it is done, and the answer is not there yet.
 */
export const crashPoints = [
  'open_asked',
  'open_committed',
  'line_opening',
  'line_open',
  'sending_asked',
  'sending_committed',
  'write_before',
  'write_left',
  'write_arrived',
  'write_answered',
  'step_asked',
  'step_committed',
  'evidence_asked',
  'take_over_asked',
  'take_over_committed',
  'halt_asked',
  'halt_committed',
  'read_asked',
  'read_answered',
  'results_read',
  'results_sent',
  'results_marked',
] as const;
export type CrashPoint = (typeof crashPoints)[number];

/** One crash: the process that reaches `point` for the `time`th time ends there. */
export interface PlannedCrash {
  readonly point: CrashPoint;
  readonly time: number;
}

/** Lets processes end at named points. Invariant: a planned crash happens at most once. */
export class CrashPoints {
  /** Ends the process. */
  crash: (host: Host) => void = () => {};
  /** How often each point was reached, so that a sweep which tests nothing is seen. */
  readonly reached = new Map<CrashPoint, number>();
  happened = false;
  private ended = false;
  private readonly plan: PlannedCrash | undefined;

  constructor(plan: PlannedCrash | undefined) {
    this.plan = plan;
  }

  /** No crash from here on: the run is ending, and nobody would start the process again. */
  end(): void {
    this.ended = true;
  }

  reach(point: CrashPoint, host: Host): void {
    if (host.crashed) return;
    const times = (this.reached.get(point) ?? 0) + 1;
    this.reached.set(point, times);
    if (this.ended || this.happened || this.plan?.point !== point || this.plan.time !== times) return;
    this.happened = true;
    this.crash(host);
  }
}
