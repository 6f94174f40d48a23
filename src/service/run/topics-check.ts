import type { CheckResult, HealthRegistry } from '../../observability/health.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Rounds } from '../../runtime/rounds.ts';
import { SingleFlight, withDeadline } from '../../runtime/waiting.ts';
import type { TopicsAnswer, TopicsState } from '../log/plan-topics.ts';

interface TopicsCheckDeps {
  readonly clock: Clock;
  readonly ask: () => Promise<TopicsState>;
  readonly metrics?: Pick<Metrics['process'], 'topicsDiffer'>;
}

/** Differences that may lose or refuse data, while everything flows. */
export interface TopicDoubts {
  readonly details: readonly string[];
  /** Wall time; undefined: there are none. */
  readonly sinceMs: number | undefined;
}

/**
 * A good answer is good for so long: a probe every second must not make an admin connection every
 * second. After any other one each report asks again.
 */
const maxAgeMs = 15_000;
/** Below a health check's deadline: a broker that hangs then counts as silent. */
const askWithinMs = 2_500;
/** How often it asks if no probe asks for readiness: doubts are in the status, and in an alert. */
const lookEveryMs = 60_000;

/**
 * Two health checks by one question to Kafka, and the doubts about the topics for `/status`. While
 * Kafka is away, orders can be read, cancelled and halted, and updates wait in the log: the process
 * is only degraded. It is unready if a topic can't be written as planned, and before Kafka has
 * answered for the first time. Settings that let everything flow never make it unready
 * (`judge-topics.ts`).
 */
export class TopicsCheck {
  readonly rounds: Rounds;
  private differing: TopicDoubts = { details: [], sinceMs: undefined };
  private readonly flight = new SingleFlight<TopicsState>();
  private goodUntilMs = Number.NEGATIVE_INFINITY;
  /** Kafka's last answer about the topics. */
  private known: TopicsAnswer | undefined;
  private readonly deps: TopicsCheckDeps;

  constructor(deps: TopicsCheckDeps) {
    this.deps = deps;
    this.rounds = new Rounds(
      { clock: deps.clock, round: () => this.look() },
      { name: 'topics-check', everyMs: lookEveryMs },
    );
  }

  get doubts(): TopicDoubts {
    return this.differing;
  }

  addTo(health: HealthRegistry): void {
    health.add({ name: 'topics', effect: 'unready', check: () => this.topics() });
    health.add({ name: 'kafka', effect: 'degraded', check: () => this.kafka() });
  }

  private async topics(): Promise<CheckResult> {
    const { kind } = await this.look();
    if (this.known === undefined) return { ok: false, detail: 'Kafka has not answered since the start' };
    if (this.known.kind === 'faulty') return { ok: false, detail: this.known.unready.join('; ') };
    const differs = [...this.known.doubts, ...this.known.notes].join('; ');
    const detail = differs === '' ? 'as planned' : `there, and differs from the plan: ${differs}`;
    return {
      ok: true,
      detail: `every topic ${kind === 'silent' ? 'was' : 'is'} ${detail}${kind === 'silent' ? ' when Kafka last answered' : ''}`,
    };
  }

  private async kafka(): Promise<CheckResult> {
    const state = await this.look();
    if (state.kind !== 'silent') return { ok: true, detail: 'Kafka answers' };
    return { ok: false, detail: `Kafka does not answer, and updates wait in the log: ${state.why}` };
  }

  private async look(): Promise<TopicsState> {
    const isGood = this.deps.clock.monotonicMs() < this.goodUntilMs;
    return (isGood ? this.known : undefined) ?? this.ask();
  }

  private learn(state: TopicsAnswer): void {
    this.known = state;
    const details = state.doubts;
    const sinceMs = details.length === 0 ? undefined : (this.differing.sinceMs ?? this.deps.clock.nowMs());
    this.differing = { details, sinceMs };
    this.deps.metrics?.topicsDiffer.set(details.length);
  }

  /** An answer that comes too late for those who asked is one all the same. */
  private readonly heard = async (): Promise<TopicsState> => {
    const state = await this.deps.ask();
    if (state.kind === 'planned') this.goodUntilMs = this.deps.clock.monotonicMs() + maxAgeMs;
    if (state.kind !== 'silent') this.learn(state);
    return state;
  };

  private async ask(): Promise<TopicsState> {
    try {
      return await withDeadline(this.deps.clock, askWithinMs, 'its answer', this.flight.run(this.heard));
    } catch (error) {
      return { kind: 'silent', why: error instanceof Error ? error.message : String(error) };
    }
  }
}
