import type { Clock } from './clock.ts';
import { abortAfter } from './waiting.ts';

/**
 * A long-lived part of the process. The supervisor starts parts in order and drains them in the order of the shutdown
 * plan, which is not simply the reverse: a source stops before the queue behind it is emptied.
 */
export interface Service {
  /** Short, stable, kebab-case: it names the part in logs and in `/status`. */
  readonly name: string;
  /** Resolves when the part is working, or will work without further help (it keeps trying by itself). Rejects only for a fault that ends the process. */
  start(): Promise<void>;
  /**
   * Finishes the work in hand and takes nothing new. Resolves when no work of the part runs any more; gives up the rest when
   * `signal` aborts (a crash must be equally safe, so giving up loses nothing). Called once, also after a failed start and while `start` still waits.
   */
  drain(signal: AbortSignal): Promise<void>;
}

interface SupervisorDeps {
  readonly clock: Clock;
  readonly log: RuntimeLog;
}

interface SupervisorOptions {
  /** Started one after the other. */
  readonly startOrder: readonly Service[];
  /** The same services in the order of the shutdown plan. */
  readonly drainOrder: readonly Service[];
  /** For the whole drain. */
  readonly drainDeadlineMs: number;
}

type SupervisorState = 'idle' | 'starting' | 'running' | 'draining' | 'stopped';

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

  /** Begins the drain, for a reason that is not a fault: a signal, a command. Harmless when it has begun already. */
  stop(reason: string): void {
    this.deps.log.info({ reason }, 'stopping');
    this.begin(0);
  }

  /** A part can't go on and can't recover by itself: begins the drain and makes the process end with `exitCode`. */
  fatal(part: string, error: unknown, exitCode = 1): void {
    this.deps.log.error({ part, err: error }, 'a part cannot go on');
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
        // A start that hangs must not delay a drain: when a stop is asked for, the start is no longer waited for.
        const done = await Promise.race([callStart(service).then(() => true), this.stopAsked().then(() => false)]);
        if (!done) return;
        this.deps.log.info({ part: service.name, ms: Math.round(this.deps.clock.monotonicMs() - beganMs) }, 'part started');
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

/** Async, so that a start that throws before it awaits is a failed start like any other. */
async function callStart(service: Service): Promise<void> {
  await service.start();
}

/** A part may set `exitCode` on its error, for example to show that the fault is one of configuration (78). */
function exitCodeOf(error: unknown): number {
  return error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number' ? error.exitCode : 1;
}

interface DrainDeps {
  readonly clock: Clock;
  readonly log: RuntimeLog;
}

interface DrainStep {
  readonly name: string;
  readonly ms: number;
  /** `gave_up`: the step did not end by itself in time. Nothing is lost, but it was not clean. */
  readonly outcome: 'drained' | 'failed' | 'gave_up';
}

/** The share of the deadline, at its end, that is kept for steps which must give up. */
const giveUpShare = 0.1;

/**
 * Drains the services one after the other under one deadline, and logs each step with its milliseconds. When nine tenths of the time
 * are gone every remaining step starts with an aborted signal, and they share the rest evenly, so that one that hangs
 * cannot take the time to close from those after it. Never rejects, never takes longer than `deadlineMs`.
 */
async function drainInOrder(services: readonly Service[], deadlineMs: number, deps: DrainDeps): Promise<DrainStep[]> {
  const { clock, log } = deps;
  const beganMs = clock.monotonicMs();
  const giveUpAtMs = beganMs + deadlineMs * (1 - giveUpShare);
  using giveUp = abortAfter(clock, giveUpAtMs - beganMs, 'the drain');
  const steps: DrainStep[] = [];
  for (const [index, service] of services.entries()) {
    const nowMs = clock.monotonicMs();
    const shareMs = (beganMs + deadlineMs - Math.max(nowMs, giveUpAtMs)) / (services.length - index);
    const step = await drainOne(service, giveUp.signal, Math.max(0, giveUpAtMs - nowMs) + Math.max(0, shareMs), deps);
    log[step.outcome === 'drained' ? 'info' : 'warn']({ part: step.name, ms: step.ms, outcome: step.outcome }, 'drain step');
    steps.push(step);
  }
  return steps;
}

async function drainOne(service: Service, signal: AbortSignal, limitMs: number, { clock, log }: DrainDeps): Promise<DrainStep> {
  const { name } = service;
  const beganMs = clock.monotonicMs();
  const limit = new AbortController();
  const finished = callDrain(service, signal).then(
    () => (signal.aborted ? 'gave_up' : 'drained'),
    (error: unknown) => {
      log.error({ part: name, err: error }, 'a part failed while it drained');
      return 'failed' as const;
    },
  );
  const late = clock.sleep(limitMs, limit.signal).then(() => 'gave_up' as const);
  const outcome = await Promise.race([finished, late]);
  limit.abort();
  return { name, ms: Math.round(clock.monotonicMs() - beganMs), outcome };
}

/** Async, so that a drain that throws before it awaits fails its own step only. */
async function callDrain(service: Service, signal: AbortSignal): Promise<void> {
  await service.drain(signal);
}

/** The part of a logger that the lowest rooms need; the log of `observability/` fits it. */
interface RuntimeLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
