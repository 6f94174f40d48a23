import type { Clock } from './clock.ts';
import { sentenceOf } from './program-error.ts';
import { abortAfter, aborted } from './waiting.ts';

/**
 * A long-lived part of the process. Its phase says when the supervisor starts it, and when it
 * drains it. The drain is not simply the reverse of the start: a source stops before the queue
 * behind it is emptied.
 */
export interface Service {
  /** Short, stable, kebab-case: it names the part in logs and in `/status`. */
  readonly name: string;
  /**
   * Resolves when the part is working, or will work without further help (it keeps trying by
   * itself). Rejects only for a fault that ends the process.
   */
  start(): Promise<void>;
  /**
   * Finishes the work in hand and takes nothing new. Resolves when none of the part's work runs any
   * more. Gives up the rest when `signal` aborts (a crash must be equally safe, so giving up loses
   * nothing). Called once, also after a failed start, with a signal that is aborted already, and
   * while `start` still waits.
   */
  drain(signal: AbortSignal): Promise<void>;
}

/** A part that needs no start, only an end. */
export function closing(name: string, close: (signal: AbortSignal) => Promise<void>): Service {
  return { name, start: async () => undefined, drain: close };
}

/**
 * A stretch of a process's life. Phases start from the first to the last, and end from the last to
 * the first.
 */
export interface Phase {
  /** Names it if the plan is wrong. */
  readonly name: string;
  /** Started one after the other. */
  readonly starts: readonly Service[];
  /**
   * Drained one after the other. They may have started in another phase. Left out: those this one
   * starts, from the last to the first.
   */
  readonly ends?: readonly Service[];
}

interface SupervisorDeps {
  readonly clock: Clock;
  readonly log: RuntimeLogger;
}

interface SupervisorOptions {
  readonly phases: readonly Phase[];
  /** For the whole drain. */
  readonly drainDeadlineMs: number;
}

type SupervisorState = 'idle' | 'starting' | 'running' | 'draining' | 'stopped';

/**
 * Runs a process's parts from start to drain.
 *
 * idle → starting → running → draining → stopped; a failed start, a stop or a fatal report goes
 * from starting or running straight to draining.
 *
 * Invariant: a service whose `start` was called is drained exactly once, and no service is started
 * once the drain was asked for. The drain ends within its deadline, even if a service hangs. The
 * first reason to stop decides the exit code, and is the last line of the log where it is a fault;
 * later ones are only logged. Where the start failed there is nothing to finish: everything gives
 * up at once, without a line.
 */
export class Supervisor {
  private current: SupervisorState = 'idle';
  private exitCode: number | undefined;
  private hasRun = false;
  private fault: { readonly part: string; readonly err: unknown } | undefined;
  private readonly touched = new Set<Service>();
  private readonly stopping = new AbortController();
  private readonly deps: SupervisorDeps;
  private readonly startOrder: readonly Service[];
  private readonly drainOrder: readonly Service[];
  private readonly drainDeadlineMs: number;

  /**
   * Throws unless the phases start and end the same services, each once: a part left out would
   * never be drained.
   */
  constructor(deps: SupervisorDeps, { phases, drainDeadlineMs }: SupervisorOptions) {
    this.deps = deps;
    this.startOrder = phases.flatMap(({ starts }) => starts);
    this.drainOrder = phases.toReversed().flatMap(({ starts, ends = starts.toReversed() }) => ends);
    this.drainDeadlineMs = drainDeadlineMs;
    const isOnce = (service: Service) =>
      [this.startOrder, this.drainOrder].every((order) => order.filter((other) => other === service).length === 1);
    const wrong = phases.find(({ starts, ends = [] }) => ![...starts, ...ends].every(isOnce));
    if (wrong !== undefined)
      throw new Error(`phase ${wrong.name}: the phases must start and end the same services, each once`);
  }

  get state(): SupervisorState {
    return this.current;
  }

  /**
   * Starts everything, waits for a reason to stop, drains. Resolves with the exit code; never
   * rejects. Called once.
   */
  async run(): Promise<number> {
    const beganMs = this.deps.clock.monotonicMs();
    this.current = 'starting';
    await this.startAll();
    if (!this.stopping.signal.aborted) {
      this.current = 'running';
      this.hasRun = true;
      this.deps.log.info({ ms: Math.round(this.deps.clock.monotonicMs() - beganMs) }, 'started');
      await aborted(this.stopping.signal);
    }
    return this.drainAll();
  }

  /**
   * Begins the drain, for a reason that is not a fault: a signal, a command. Harmless when it has
   * begun already.
   */
  stop(reason: string): void {
    this.deps.log.info({ reason }, 'stopping');
    this.begin(0);
  }

  /**
   * A part can't go on and can't recover by itself: begins the drain and makes the process end with
   * `exitCode`.
   */
  fatal(part: string, error: unknown, exitCode = 1): void {
    const fault = { part, err: error };
    this.deps.log.error(fault, 'a part cannot go on');
    if (this.exitCode === undefined) this.fault = fault;
    this.begin(exitCode);
  }

  private begin(exitCode: number): void {
    this.exitCode ??= exitCode;
    if (this.current === 'starting' || this.current === 'running') this.current = 'draining';
    this.stopping.abort();
  }

  private async startAll(): Promise<void> {
    for (const service of this.startOrder) {
      if (this.stopping.signal.aborted) return;
      this.touched.add(service);
      // Async, so a start that throws before it awaits is a failed start like any other.
      const start = async () => {
        await service.start();
        return true;
      };
      const beganMs = this.deps.clock.monotonicMs();
      try {
        // A start that hangs must not delay a drain: when a stop is asked for, the start is no
        // longer waited for.
        const done = await Promise.race([start(), aborted(this.stopping.signal).then(() => false)]);
        if (!done) return;
        this.deps.log.info(
          { part: service.name, ms: Math.round(this.deps.clock.monotonicMs() - beganMs) },
          'part started',
        );
      } catch (error) {
        this.fatal(service.name, error, exitCodeOf(error));
      }
    }
  }

  private async drainAll(): Promise<number> {
    const beganMs = this.deps.clock.monotonicMs();
    const touched = this.drainOrder.filter((service) => this.touched.has(service));
    const { fault, deps } = this;
    const atOnce = fault !== undefined && !this.hasRun;
    const steps = await drainInOrder(touched, this.drainDeadlineMs, atOnce, deps);
    this.current = 'stopped';
    const unclean = steps.filter(({ result }) => result !== 'drained').map(({ name }) => name);
    const ms = Math.round(deps.clock.monotonicMs() - beganMs);
    if (!atOnce) deps.log.info({ ms, unclean }, 'drained');
    if (fault !== undefined) deps.log.error(fault, `ended: ${sentenceOf(fault.err)}`);
    return this.exitCode === 0 && unclean.length > 0 ? 1 : (this.exitCode ?? 0);
  }
}

/** A part may set `exitCode` on its error, for example to show a configuration fault (78). */
function exitCodeOf(error: unknown): number {
  return error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number' ? error.exitCode : 1;
}

interface DrainStep {
  readonly name: string;
  readonly ms: number;
  /** `gave_up`: the step did not end by itself in time. Nothing is lost, but it was not clean. */
  readonly result: 'drained' | 'failed' | 'gave_up';
}

/** This share of the deadline, at its end, is kept for steps that must give up. */
const giveUpShare = 0.1;

/**
 * Drains the services one after the other under one deadline, and logs each step with its
 * milliseconds. When nine tenths of the time are gone every remaining step starts with an aborted
 * signal. They share the rest evenly, so a step that hangs cannot take the time to close from those
 * after it. `atOnce`: that is so from the beginning, and no step is logged. Never rejects, never
 * takes longer than `deadlineMs`.
 */
async function drainInOrder(
  services: readonly Service[],
  deadlineMs: number,
  atOnce: boolean,
  deps: SupervisorDeps,
): Promise<DrainStep[]> {
  const { clock, log } = deps;
  const beganMs = clock.monotonicMs();
  const giveUpAtMs = beganMs + (atOnce ? 0 : deadlineMs * (1 - giveUpShare));
  using late = abortAfter(clock, giveUpAtMs - beganMs, 'the drain');
  const signal = atOnce ? AbortSignal.abort() : late.signal;
  const steps: DrainStep[] = [];
  for (const [index, service] of services.entries()) {
    const nowMs = clock.monotonicMs();
    const shareMs = (beganMs + deadlineMs - Math.max(nowMs, giveUpAtMs)) / (services.length - index);
    const step = await drainOne(service, signal, Math.max(0, giveUpAtMs - nowMs) + Math.max(0, shareMs), deps);
    const { name, ms, result } = step;
    if (!atOnce) log[result === 'drained' ? 'info' : 'warn']({ part: name, ms, result }, 'drain step');
    steps.push(step);
  }
  return steps;
}

async function drainOne(
  service: Service,
  signal: AbortSignal,
  limitMs: number,
  { clock, log }: SupervisorDeps,
): Promise<DrainStep> {
  const { name } = service;
  const beganMs = clock.monotonicMs();
  const limit = new AbortController();
  const drain = async () => {
    try {
      await service.drain(signal);
      return signal.aborted ? 'gave_up' : 'drained';
    } catch (error) {
      log.error({ part: name, err: error }, 'a part failed while it drained');
      return 'failed';
    }
  };
  const late = clock.sleep(limitMs, limit.signal).then(() => 'gave_up' as const);
  const result = await Promise.race([drain(), late]);
  limit.abort();
  return { name, ms: Math.round(clock.monotonicMs() - beganMs), result };
}

/** The lowest rooms need only this part of a logger; the log in `observability/` fits it. */
export interface RuntimeLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
