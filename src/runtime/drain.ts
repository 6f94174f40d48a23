import type { Clock } from './clock.ts';
import type { RuntimeLog } from './runtime-log.ts';
import type { Service } from './service.ts';

export interface DrainDeps {
  readonly clock: Clock;
  readonly log: RuntimeLog;
}

export interface DrainStep {
  readonly name: string;
  readonly ms: number;
  /** `gave_up`: the step did not end by itself in time. Nothing is lost by that, but it was not clean. */
  readonly outcome: 'drained' | 'failed' | 'gave_up';
}

/** The share of the deadline, at its end, in which steps that must give up may do so. */
const giveUpShare = 0.1;

/**
 * Drains the services one after the other under one deadline, and logs each step with its milliseconds. When nine tenths of the time
 * are gone every step still to come starts with an aborted signal, and they share the rest evenly, so that one that hangs
 * cannot take the chance to close from those behind it. Never rejects, never outlasts `deadlineMs`.
 */
export async function drainInOrder(services: readonly Service[], deadlineMs: number, deps: DrainDeps): Promise<DrainStep[]> {
  const { clock, log } = deps;
  const beganMs = clock.monotonicMs();
  const giveUpAtMs = beganMs + deadlineMs * (1 - giveUpShare);
  const giveUp = new AbortController();
  const timer = clock.after(giveUpAtMs - beganMs, () => giveUp.abort());
  const steps: DrainStep[] = [];
  for (const [index, service] of services.entries()) {
    const nowMs = clock.monotonicMs();
    const shareMs = (beganMs + deadlineMs - Math.max(nowMs, giveUpAtMs)) / (services.length - index);
    const step = await drainOne(service, giveUp.signal, Math.max(0, giveUpAtMs - nowMs) + Math.max(0, shareMs), deps);
    log[step.outcome === 'drained' ? 'info' : 'warn']({ service: step.name, ms: step.ms, outcome: step.outcome }, 'drain step');
    steps.push(step);
  }
  timer.cancel();
  return steps;
}

async function drainOne(service: Service, signal: AbortSignal, limitMs: number, { clock, log }: DrainDeps): Promise<DrainStep> {
  const { name } = service;
  const beganMs = clock.monotonicMs();
  const limit = new AbortController();
  const finished = callDrain(service, signal).then(
    () => (signal.aborted ? 'gave_up' : 'drained'),
    (error: unknown) => {
      log.error({ service: name, err: error }, 'a part failed while it drained');
      return 'failed' as const;
    },
  );
  const late = clock.sleep(limitMs, limit.signal).then(() => 'gave_up' as const);
  const outcome = await Promise.race([finished, late]);
  limit.abort();
  return { name, ms: Math.round(clock.monotonicMs() - beganMs), outcome };
}

/** So that a drain that throws before it awaits fails its own step only. */
async function callDrain(service: Service, signal: AbortSignal): Promise<void> {
  await service.drain(signal);
}
