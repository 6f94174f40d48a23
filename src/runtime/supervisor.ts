import type { Clock } from './clock.ts';
import { type DrainStep, drainInOrder } from './drain.ts';
import type { RuntimeLog } from './runtime-log.ts';
import type { Service } from './service.ts';

export interface SupervisorDeps {
  readonly clock: Clock;
  readonly log: RuntimeLog;
}

export interface SupervisorOptions {
  /** Started one after the other. */
  readonly startOrder: readonly Service[];
  /** The same services in the order of the shutdown plan. */
  readonly drainOrder: readonly Service[];
  /** For the whole drain. */
  readonly drainDeadlineMs: number;
}

export type SupervisorState = 'idle' | 'starting' | 'running' | 'draining' | 'stopped';

/**
 * Runs the parts of a process from start to drain.
 *
 * idle → starting → running → draining → stopped; a failed start, a stop or a fatal report goes from starting or running straight to
 * draining.
 *
 * Invariant: a service whose `start` was called is drained exactly once, and no service is started once the drain was asked for. The
 * drain ends within its deadline, even if a service hangs. The first reason to stop decides the exit code; later ones are only logged.
 */
export class Supervisor {
  private current: SupervisorState = 'idle';
  private exitCode: number | undefined;
  private readonly touched = new Set<Service>();
  private readonly stopping = new AbortController();
  private readonly deps: SupervisorDeps;
  private readonly options: SupervisorOptions;

  /** Throws when the two orders don't name the same services: a part left out of the plan would never be drained. */
  constructor(deps: SupervisorDeps, options: SupervisorOptions) {
    const planned = new Set(options.drainOrder);
    const same = planned.size === options.startOrder.length && planned.size === options.drainOrder.length;
    if (!same || options.startOrder.some((service) => !planned.has(service))) {
      throw new Error('the start order and the drain order must name the same services, each once');
    }
    this.deps = deps;
    this.options = options;
  }

  get state(): SupervisorState {
    return this.current;
  }

  /** Starts everything, waits for a reason to stop, drains. Resolves with the exit code; never rejects. Called once. */
  async run(): Promise<number> {
    const beganMs = this.deps.clock.monotonicMs();
    this.current = 'starting';
    await this.startAll();
    if (!this.stopping.signal.aborted) {
      this.current = 'running';
      this.deps.log.info({ ms: Math.round(this.deps.clock.monotonicMs() - beganMs) }, 'started');
      await this.stopAsked();
    }
    return this.drainAll();
  }

  /** Begins the drain, for a reason that is no fault: a signal, a command. Harmless when it has begun already. */
  stop(reason: string): void {
    this.deps.log.info({ reason }, 'stopping');
    this.begin(0);
  }

  /** A part can't go on and can't recover by itself: begins the drain and makes the process end with `exitCode`. */
  fatal(part: string, error: unknown, exitCode = 1): void {
    this.deps.log.error({ service: part, err: error }, 'a part cannot go on');
    this.begin(exitCode);
  }

  private begin(exitCode: number): void {
    this.exitCode ??= exitCode;
    if (this.current === 'starting' || this.current === 'running') this.current = 'draining';
    this.stopping.abort();
  }

  private async startAll(): Promise<void> {
    for (const service of this.options.startOrder) {
      if (this.stopping.signal.aborted) return;
      this.touched.add(service);
      const beganMs = this.deps.clock.monotonicMs();
      try {
        // A start that hangs must not hold up a drain: who is asked to stop stops waiting for it.
        const done = await Promise.race([callStart(service).then(() => true), this.stopAsked().then(() => false)]);
        if (!done) return;
        this.deps.log.info({ service: service.name, ms: Math.round(this.deps.clock.monotonicMs() - beganMs) }, 'part started');
      } catch (error) {
        this.fatal(service.name, error, exitCodeOf(error));
      }
    }
  }

  private async drainAll(): Promise<number> {
    const beganMs = this.deps.clock.monotonicMs();
    const touched = this.options.drainOrder.filter((service) => this.touched.has(service));
    const steps = await drainInOrder(touched, this.options.drainDeadlineMs, this.deps);
    this.current = 'stopped';
    const unclean = steps.filter((step: DrainStep) => step.outcome !== 'drained').map((step) => step.name);
    this.deps.log.info({ ms: Math.round(this.deps.clock.monotonicMs() - beganMs), unclean }, 'drained');
    return this.exitCode === 0 && unclean.length > 0 ? 1 : (this.exitCode ?? 0);
  }

  private stopAsked(): Promise<void> {
    const { signal } = this.stopping;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }
}

/** So that a start that throws before it awaits is a failed start like any other. */
async function callStart(service: Service): Promise<void> {
  await service.start();
}

/** A part may say by `exitCode` on its error that the fault is one of configuration (78), say. */
function exitCodeOf(error: unknown): number {
  return error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number' ? error.exitCode : 1;
}
