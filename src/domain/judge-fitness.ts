import type { Proof } from './member-report.ts';

/** Faults that another process need not have: there the accounts would be followed. */
export type Trouble = 'sockets_down' | 'relay_stuck' | 'loop_late';

/**
 * What another process has to show to prove that a trouble is not
 * everybody's. Undefined: it is never everybody's.
 */
const proofAgainst: Readonly<Record<Trouble, Proof | undefined>> = {
  sockets_down: 'sockets',
  relay_stuck: 'kafka',
  loop_late: undefined,
};

/**
 * Whether one of the others shows that this trouble is not everybody's. To show no
 * trouble is not enough: one that follows no account has no socket that could be down and
 * no row that could wait, whatever is away.
 */
export function isDisproved(
  trouble: Trouble,
  others: readonly { readonly isWell: boolean; readonly works: readonly Proof[] }[],
): boolean {
  const proof = proofAgainst[trouble];
  return others.some(({ isWell, works }) => isWell && (proof === undefined || works.includes(proof)));
}

/** What a process knows at one moment. */
export interface FitnessReading {
  readonly nowMs: number;
  /** Undefined: it is well. */
  readonly trouble: Trouble | undefined;
  /** Another live process takes shards. */
  readonly anotherTakes: boolean;
  /**
   * One of these proves that the trouble is not everybody's
   * (`isDisproved`): it is this process's own.
   */
  readonly isOwn: boolean;
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
  /**
   * How long an acknowledgement of Kafka is proof. No longer than `troubledForMs`, so that none is
   * from before the trouble.
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
 * States: fit → unfit, after a trouble of `troubledForMs` that another process proves not to have →
 * fit again, once it was well for the cool-down, which doubles each time: a process that is well
 * only while it has nothing to do would otherwise get its shards back every minute. It is fit at
 * once where no other process takes shards: a process alone is never unfit.
 *
 * A fault that all have (the platform or Kafka is away) makes none of them unfit,
 * since moving shards would not help. That another one has no trouble proves nothing
 * where it has nothing to do: see `isDisproved`.
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
  if (isLong && reading.isOwn) return { ...trouble, unfit: { cause: name }, coolDownMs, fitSinceMs };
  const isForgotten = nowMs - fitSinceMs >= rules.forgetMs;
  return { ...trouble, coolDownMs: isForgotten ? rules.firstCoolDownMs : coolDownMs, fitSinceMs };
}
