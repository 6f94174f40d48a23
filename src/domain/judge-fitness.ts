/** Faults that another process need not have: there the accounts would be followed. */
export type Trouble = 'sockets_down' | 'relay_stuck' | 'loop_late';

/** What a process knows at one moment. */
export interface FitnessReading {
  readonly nowMs: number;
  /** Undefined: it is well. */
  readonly trouble: Trouble | undefined;
  /** Another live process takes shards. */
  readonly anotherTakes: boolean;
  /** One of these has no trouble: what troubles this process is its own. */
  readonly anotherIsWell: boolean;
}

export interface Fitness {
  /** The present trouble, and since when there has been one. */
  readonly trouble?: { readonly name: Trouble; readonly sinceMs: number };
  /** It is unfit, and takes no shards. `wellSinceMs`: left out while it still has a trouble. */
  readonly unfit?: { readonly cause: Trouble; readonly wellSinceMs?: number };
  /** How long it has to be well before it is fit again, the next time. */
  readonly coolDownMs: number;
  /** When it was last made fit again. */
  readonly fitSinceMs: number;
}

export interface FitnessRules {
  readonly troubledForMs: number;
  readonly firstCoolDownMs: number;
  readonly mostCoolDownMs: number;
  /** After so long without being unfit, the cool-down is the first one again. */
  readonly forgetMs: number;
}

export const fitnessRules: FitnessRules = {
  troubledForMs: 20_000,
  firstCoolDownMs: 60_000,
  mostCoolDownMs: 960_000,
  forgetMs: 3_600_000,
};

export function fitAtFirst({ firstCoolDownMs }: FitnessRules, nowMs: number): Fitness {
  return { coolDownMs: firstCoolDownMs, fitSinceMs: nowMs };
}

/**
 * States: fit → unfit, after a trouble of `troubledForMs` that another process does not have → fit again, once it was well for the cool-down, which doubles each
 * time: a process that is well only while it has nothing to do would otherwise get its shards back every minute. It is fit at once where no other process takes
 * shards: a process alone is never unfit.
 *
 * A fault that all have (the platform or Kafka is away) makes none of them unfit, since moving shards would not help.
 */
export function judgeFitness(before: Fitness, reading: FitnessReading, rules: FitnessRules): Fitness {
  const { nowMs, trouble: name } = reading;
  const sinceMs = before.trouble?.sinceMs ?? nowMs;
  const trouble = name === undefined ? {} : { trouble: { name, sinceMs } };
  const { coolDownMs, fitSinceMs } = before;
  if (before.unfit !== undefined) {
    const { cause, wellSinceMs = nowMs } = before.unfit;
    const isOver = name === undefined && nowMs - wellSinceMs >= coolDownMs;
    if (isOver || !reading.anotherTakes)
      return { ...trouble, coolDownMs: Math.min(2 * coolDownMs, rules.mostCoolDownMs), fitSinceMs: nowMs };
    return { ...trouble, unfit: { cause, ...(name === undefined && { wellSinceMs }) }, coolDownMs, fitSinceMs };
  }
  const isLong = name !== undefined && nowMs - sinceMs >= rules.troubledForMs;
  if (isLong && reading.anotherIsWell) return { ...trouble, unfit: { cause: name }, coolDownMs, fitSinceMs };
  const isForgotten = nowMs - fitSinceMs >= rules.forgetMs;
  return { ...trouble, coolDownMs: isForgotten ? rules.firstCoolDownMs : coolDownMs, fitSinceMs };
}
