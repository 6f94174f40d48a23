import {
  type Fitness,
  type FitnessRules,
  fitAtFirst,
  isDisproved,
  judgeFitness,
  type Trouble,
} from '../../domain/judge-fitness.ts';
import type { Proof } from '../../domain/member-report.ts';
import { isWell } from '../../domain/plan-shards.ts';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { EventLoopWatch } from '../../observability/event-loop-watch.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { sumOfSeries } from '../../observability/read-metric.ts';
import type { LaneMember, Unwell } from '../../store/fleet/shard-store.ts';
import type { ConnectionReading } from '../sources/source-status.ts';

interface OwnFitnessDeps extends ClockAndLogger {
  /**
   * `openIdle`: opens a stream to the platform although no account needs one,
   * to show to the others whether that works.
   */
  readonly sources: { connections(): readonly ConnectionReading[]; openIdle?(): void };
  /**
   * Whether Kafka answers, and can take rows. Asked only while another process waits for Kafka and
   * this one has no rows. Left out: never asked.
   */
  readonly asksKafka?: () => Promise<boolean>;
  readonly loop?: Pick<EventLoopWatch, 'isLate'>;
  /** The question to Kafka before accounts are followed. */
  readonly lossCheck?: { readonly failingForMs: number | undefined };
  readonly metrics: Pick<Metrics, 'relay' | 'ingest'>;
}

/** Kafka acknowledges a row within milliseconds. */
const unsentForMs = 3_000;
const askKafkaEveryMs = 5_000;

/**
 * Whether this process is healthy enough to follow accounts, by its own readings and what the
 * others show of themselves (domain/judge-fitness.ts).
 */
export class OwnFitness {
  private fitness: Fitness;
  private acknowledged = 0;
  private kafkaWorkedMs = Number.NEGATIVE_INFINITY;
  /** Monotonic: since when rows have waited at each look. */
  private pendingSinceMs = Number.POSITIVE_INFINITY;
  private askedKafkaMs = Number.NEGATIVE_INFINITY;
  private readonly deps: OwnFitnessDeps;
  private readonly rules: FitnessRules;

  constructor(deps: OwnFitnessDeps, rules: FitnessRules) {
    this.deps = deps;
    this.rules = rules;
    this.fitness = fitAtFirst(rules, deps.clock.monotonicMs());
  }

  /**
   * As this process has to show itself to the others from now on. Undefined: it is well. Never
   * waits for another system, and never rejects.
   */
  async review(others: readonly LaneMember[]): Promise<Unwell | undefined> {
    const { clock, metrics, log } = this.deps;
    const before = this.fitness;
    const trouble = await this.trouble();
    await this.look(others);
    const shows = others.map((other) => ({ isWell: isWell(other), works: other.report?.works ?? [] }));
    const reading = {
      nowMs: clock.monotonicMs(),
      trouble,
      anotherTakes: others.some(({ weight }) => weight > 0),
      isOwn: trouble !== undefined && isDisproved(trouble, shows),
    };
    this.fitness = judgeFitness(before, reading, this.rules);
    const { trouble: lasting, unhealthy, coolDownMs } = this.fitness;
    if (unhealthy !== undefined && before.unhealthy === undefined) {
      metrics.ingest.unhealthy.set(1);
      log.warn(
        { cause: unhealthy.cause, coolDownMs },
        'this process is unhealthy: it gives its shards to the others until it is well',
      );
    } else if (unhealthy === undefined && before.unhealthy !== undefined) {
      metrics.ingest.unhealthy.set(0);
      log.info({ cause: before.unhealthy.cause }, 'this process is healthy again, and takes shards');
    }
    const shown = unhealthy?.cause ?? lasting?.name;
    return shown && { trouble: shown, unhealthy: unhealthy !== undefined };
  }

  /** What works here: proof for the others, so they know their trouble is not everybody's. */
  get works(): readonly Proof[] {
    const { sources, clock } = this.deps;
    const kafka = clock.monotonicMs() - this.kafkaWorkedMs < this.rules.proofForMs;
    return [
      ...(kafka ? ['kafka' as const] : []),
      ...(sources.connections().some((each) => each.connected) ? ['sockets' as const] : []),
    ];
  }

  /**
   * A process with nothing to do has nothing to show, and one in trouble then
   * keeps its accounts: so the idle one tries.
   */
  private async look(others: readonly LaneMember[]): Promise<void> {
    const { sources, metrics, asksKafka, clock } = this.deps;
    const nowMs = clock.monotonicMs();
    const acknowledged = await sumOfSeries(metrics.relay.records, { result: 'acknowledged' });
    if (acknowledged > this.acknowledged) this.kafkaWorkedMs = nowMs;
    this.acknowledged = acknowledged;
    const anotherHas = (trouble: Trouble) => others.some(({ unwell }) => unwell?.trouble === trouble);
    if (anotherHas('sockets_down') && sources.connections().every(({ accounts }) => accounts === 0))
      sources.openIdle?.();
    if (!anotherHas('relay_stuck') || asksKafka === undefined || nowMs - this.askedKafkaMs < askKafkaEveryMs) return;
    this.askedKafkaMs = nowMs;
    void asksKafka().then(
      (works) => {
        if (works) this.kafkaWorkedMs = nowMs;
      },
      () => undefined,
    );
  }

  private async trouble(): Promise<Trouble | undefined> {
    const { sources, loop, lossCheck, metrics, clock } = this.deps;
    if (loop?.isLate === true) return 'loop_late';
    const used = sources.connections().filter(({ accounts }) => accounts > 0);
    if (used.length > 0 && used.every(({ connected }) => !connected)) return 'sockets_down';
    if (lossCheck?.failingForMs !== undefined) return 'relay_stuck';
    const oldestMs = 1000 * (await sumOfSeries(metrics.relay.oldestPending, { topic: 'updates' }));
    if (oldestMs === 0) this.pendingSinceMs = Number.POSITIVE_INFINITY;
    else this.pendingSinceMs = Math.min(this.pendingSinceMs, clock.monotonicMs());
    // The row's time may be of the database's clock, and ours may be behind it: rows that wait and
    // nothing that is acknowledged meanwhile are a stall by any clock.
    const stalledMs = clock.monotonicMs() - Math.max(this.pendingSinceMs, this.kafkaWorkedMs);
    const waitsMs = oldestMs === 0 ? 0 : clock.nowMs() - oldestMs;
    return waitsMs > unsentForMs || stalledMs > unsentForMs ? 'relay_stuck' : undefined;
  }
}
