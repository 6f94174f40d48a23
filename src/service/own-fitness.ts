import type { ConnectionReading } from '../connectors/source-status.ts';
import { type Fitness, type FitnessRules, fitAtFirst, judgeFitness, type Trouble } from '../domain/judge-fitness.ts';
import { isWell } from '../domain/plan-shards.ts';
import type { EventLoopWatch } from '../observability/event-loop-watch.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { sumOfSeries } from '../observability/read-metric.ts';
import type { Clock } from '../runtime/clock.ts';
import type { LaneMember, Unwell } from '../store/shard-store.ts';

interface OwnFitnessDeps {
  readonly sources: { connections(): readonly ConnectionReading[] };
  readonly loop?: Pick<EventLoopWatch, 'isLate'>;
  /** The question to Kafka before accounts are followed. */
  readonly lossCheck?: { readonly failingForMs: number | undefined };
  readonly metrics: {
    readonly relay: Pick<Metrics['relay'], 'oldestPending'>;
    readonly ingest: Pick<Metrics['ingest'], 'unfit'>;
  };
  readonly clock: Clock;
  readonly log: Log;
}

/** Kafka acknowledges a row within milliseconds. */
const unsentForMs = 3_000;

/** Whether this process is fit to follow accounts, by its own readings and what the others show of themselves (domain/judge-fitness.ts). */
export class OwnFitness {
  private fitness: Fitness;
  private readonly deps: OwnFitnessDeps;
  private readonly rules: FitnessRules;

  constructor(deps: OwnFitnessDeps, rules: FitnessRules) {
    this.deps = deps;
    this.rules = rules;
    this.fitness = fitAtFirst(rules, deps.clock.monotonicMs());
  }

  /** As this process has to show itself to the others from now on. Undefined: it is well. Reads memory only, and never rejects. */
  async review(others: readonly LaneMember[]): Promise<Unwell | undefined> {
    const { clock, metrics, log } = this.deps;
    const before = this.fitness;
    const reading = {
      nowMs: clock.monotonicMs(),
      trouble: await this.trouble(),
      anotherTakes: others.some(({ weight }) => weight > 0),
      anotherIsWell: others.some(isWell),
    };
    this.fitness = judgeFitness(before, reading, this.rules);
    const { trouble, unfit, coolDownMs } = this.fitness;
    if (unfit !== undefined && before.unfit === undefined) {
      metrics.ingest.unfit.set(1);
      log.warn({ cause: unfit.cause, coolDownMs }, 'this process is unfit: it gives its shards to the others until it is well');
    } else if (unfit === undefined && before.unfit !== undefined) {
      metrics.ingest.unfit.set(0);
      log.info({ cause: before.unfit.cause }, 'this process is fit again, and takes shards');
    }
    const shown = unfit?.cause ?? trouble?.name;
    return shown && { trouble: shown, unfit: unfit !== undefined };
  }

  private async trouble(): Promise<Trouble | undefined> {
    const { sources, loop, lossCheck, metrics, clock } = this.deps;
    if (loop?.isLate === true) return 'loop_late';
    const used = sources.connections().filter(({ accounts }) => accounts > 0);
    if (used.length > 0 && used.every(({ connected }) => !connected)) return 'sockets_down';
    if (lossCheck?.failingForMs !== undefined) return 'relay_stuck';
    const oldestMs = 1000 * (await sumOfSeries(metrics.relay.oldestPending, { topic: 'updates' }));
    return oldestMs > 0 && clock.nowMs() - oldestMs > unsentForMs ? 'relay_stuck' : undefined;
  }
}
