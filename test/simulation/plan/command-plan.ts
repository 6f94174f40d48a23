import type { Random } from '../../../src/runtime/random.ts';
import { below, happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import { crashPoints, type PlannedCrash } from './crash-points.ts';
import { drawWriteFaults, noWriteFaults, type WriteFaults } from './write-faults.ts';

/** What callers do in a run, and what the platform and the processes do to it. */
export interface CommandPlan {
  /** Mean time between two actions of callers. */
  readonly everyMs: number;
  readonly writes: WriteFaults;
  /** The venue: how long it takes to answer, and what share it refuses. */
  readonly answerMs: number;
  readonly refuseShare: number;
  readonly capacity: number;
  readonly crash: PlannedCrash | undefined;
  /**
   * How long callers go on when nothing goes wrong any more, so that what is absent can be presumed
   * so; some writes are later still.
   */
  readonly patienceMs: number;
  /** Reads hardly ever come to an end meanwhile. */
  readonly blind: boolean;
  /** Actions that are cancel-alls beyond the few that there always are. */
  readonly cancelAllShare: number;
}

/** What a run is asked for, in place of what its seed would draw. */
export interface CommandWishes {
  readonly crash?: PlannedCrash;
  readonly patient?: boolean;
  /**
   * Every other action is a cancel-all, of orders that are being cancelled already, by us or by
   * their owner; many cancels arrive late, and many are refused.
   */
  readonly sweeping?: boolean;
  /**
   * As `sweeping`, and while a cancel of ours is on its way, the owner of
   * the order cancels it too, and is refused.
   */
  readonly contesting?: boolean;
  /**
   * The database comes back without its last commits. No commands: what their oracles ask for is in
   * a journal, which has lost nothing.
   */
  readonly losing?: boolean;
  /** As `losing`, and people halt and resume meanwhile. */
  readonly forgetting?: boolean;
  /**
   * The database comes back without the commits of one process that is gone, while the others write
   * on. No commands, as above.
   */
  readonly hiding?: boolean;
  /**
   * The database loses its last commits together with all processes, and Kafka is away while the
   * next ones write. No commands, as above.
   */
  readonly stranding?: boolean;
  /**
   * Two or three processes that all hold shards: many places at
   * one of them, and halts at another one.
   */
  readonly leaking?: boolean;
  /** The platform does what no document says: surprises.ts. */
  readonly odd?: boolean;
  /** The platform gives ids of ended orders again: plan/id-reuse.ts. */
  readonly reusing?: boolean;
  /** The platform's clock is ahead, and is set right in the middle of the run. */
  readonly setback?: boolean;
  /** The stored states of some orders are lost. */
  readonly damaging?: boolean;
  /**
   * Shards change hands all the time: several processes end, each wish for
   * a shard is an enemy's, and Kafka is slow.
   */
  readonly moving?: boolean;
  /** Left out: the platform of the specification. */
  readonly venue?: 'alpaca';
  /** The other venue is followed beside: plan/venue-beside.ts. */
  readonly beside?: boolean;
}

const lateWrites = { spoiled: 0.6, done: 0.2, late: 0.8, lateMs: 60_000 };

/** Undefined: a run without commands. */
export function drawCommandPlan(random: Random, faultyMs: number, wishes: CommandWishes): CommandPlan | undefined {
  const { crash } = wishes;
  const sweeping = wishes.sweeping === true || wishes.contesting === true;
  const { losing, forgetting, hiding, stranding } = wishes;
  if ([losing, forgetting, hiding, stranding].includes(true)) return undefined;
  if (wishes.leaking === true) return steady(random, faultyMs);
  if (happens(random, 0.1) && crash === undefined && wishes.patient !== true && !sweeping) return undefined;
  const everything = happens(random, 0.05);
  const chosen = (probability: number) => everything || happens(random, probability);
  const patient = wishes.patient ?? happens(random, 0.02);
  const drawn = chosen(0.75) ? drawWriteFaults(random, chosen) : noWriteFaults;
  const writes = sweeping ? { ...drawn, ...lateWrites } : drawn;
  return {
    everyMs: faultyMs / oneOf(random, [15, 40, 80]),
    writes: patient ? { ...writes, lateMs: 850_000 } : writes,
    answerMs: oneOf(random, [5, 100, 1_500, 4_000]),
    refuseShare: sweeping ? 0.5 : chosen(0.5) ? random.next() * 0.5 : 0,
    capacity: chosen(0.2) ? 1 : 1_000,
    crash:
      crash !== undefined
        ? crash
        : chosen(0.3)
          ? { point: oneOf(random, crashPoints), time: 1 + below(random, 6) }
          : undefined,
    patienceMs: patient ? 800_000 : 0,
    blind: happens(random, 0.3),
    cancelAllShare: sweeping ? 0.5 : 0,
  };
}

/**
 * Beside the places of the rounds: no write is spoiled, so that
 * no halt but those of people stops them.
 */
function steady(random: Random, faultyMs: number): CommandPlan {
  return {
    everyMs: faultyMs / 15,
    writes: noWriteFaults,
    answerMs: oneOf(random, [5, 100]),
    refuseShare: 0,
    capacity: 1_000,
    crash: undefined,
    patienceMs: 0,
    blind: false,
    cancelAllShare: 0,
  };
}
