import type { Proof } from './member-report.ts';

/** Faults another process need not have: it would still follow the accounts. */
export type Trouble = 'sockets_down' | 'relay_stuck' | 'loop_late';

/**
 * Another process has to show this to prove that a trouble is not everybody's. Undefined: it is
 * never everybody's.
 */
const proofAgainst: Readonly<Record<Trouble, Proof | undefined>> = {
  sockets_down: 'sockets',
  relay_stuck: 'kafka',
  loop_late: undefined,
};

/**
 * Whether another process shows that this trouble is not everybody's. To show no trouble is not
 * enough. One that follows no account has no socket that could be down and no row that could wait,
 * even when the platform or Kafka is away.
 */
export function isDisproved(
  trouble: Trouble,
  others: readonly { readonly isWell: boolean; readonly works: readonly Proof[] }[],
): boolean {
  const proof = proofAgainst[trouble];
  return others.some(({ isWell, works }) => isWell && (proof === undefined || works.includes(proof)));
}

/** A process's knowledge at one moment. */
export interface FitnessReading {
  readonly nowMs: number;
  /** Undefined: it is well. */
  readonly trouble: Trouble | undefined;
  /** Another live process takes shards. */
  readonly anotherTakes: boolean;
  /**
   * Another process proves that the trouble is not everybody's (`isDisproved`): it is this
   * process's own.
   */
  readonly isOwn: boolean;
}

export interface Fitness {
  /** The present trouble, and since when there has been one. */
  readonly trouble?: { readonly name: Trouble; readonly sinceMs: number };
  /** It is unhealthy, and takes no shards. `wellSinceMs`: left out while it still has a trouble. */
  readonly unhealthy?: { readonly cause: Trouble; readonly wellSinceMs?: number };
  /** How long it has to be well before it is healthy again, the next time. */
  readonly coolDownMs: number;
  /** When it was last made healthy again. */
  readonly fitSinceMs: number;
}

export interface FitnessRules {
  readonly troubledForMs: number;
  readonly firstCoolDownMs: number;
  readonly mostCoolDownMs: number;
  /** After so long without being unhealthy, the cool-down is the first one again. */
  readonly forgetMs: number;
  /**
   * How long Kafka's acknowledgement is proof. No longer than `troubledForMs`, so none is from
   * before the trouble.
   */
  readonly proofForMs: number;
}

export const fitnessRules: FitnessRules = {
  troubledForMs: 20_000,
  firstCoolDownMs: 60_000,
  mostCoolDownMs: 960_000,
  forgetMs: 3_600_000,
  proofForMs: 20_000,
};

export function fitAtFirst({ firstCoolDownMs }: FitnessRules, nowMs: number): Fitness {
  return { coolDownMs: firstCoolDownMs, fitSinceMs: nowMs };
}

/**
 * States: healthy → unhealthy, after `troubledForMs` of trouble, if another process proves not to
 * have it → healthy again, once it was well for the cool-down. The cool-down doubles each time: a
 * process that is well only while it has nothing to do would otherwise get its shards back every
 * minute. It is fit at once if no other process takes shards: a process alone is never unhealthy.
 *
 * A fault all processes have (the platform or Kafka is away) makes none unhealthy, since moving
 * shards would not help. If another process has nothing to do, its lack of trouble proves nothing:
 * see `isDisproved`.
 */
export function judgeFitness(before: Fitness, reading: FitnessReading, rules: FitnessRules): Fitness {
  const { nowMs, trouble: name } = reading;
  const sinceMs = before.trouble?.sinceMs ?? nowMs;
  const trouble = name === undefined ? {} : { trouble: { name, sinceMs } };
  const { coolDownMs, fitSinceMs } = before;
  if (before.unhealthy !== undefined) {
    const { cause, wellSinceMs = nowMs } = before.unhealthy;
    const isOver = name === undefined && nowMs - wellSinceMs >= coolDownMs;
    if (isOver || !reading.anotherTakes)
      return { ...trouble, coolDownMs: Math.min(2 * coolDownMs, rules.mostCoolDownMs), fitSinceMs: nowMs };
    return { ...trouble, unhealthy: { cause, ...(name === undefined && { wellSinceMs }) }, coolDownMs, fitSinceMs };
  }
  const isLong = name !== undefined && nowMs - sinceMs >= rules.troubledForMs;
  if (isLong && reading.isOwn) return { ...trouble, unhealthy: { cause: name }, coolDownMs, fitSinceMs };
  const isForgotten = nowMs - fitSinceMs >= rules.forgetMs;
  return { ...trouble, coolDownMs: isForgotten ? rules.firstCoolDownMs : coolDownMs, fitSinceMs };
}
