import type { CheckResult, HealthRegistry } from '../observability/health.ts';
import type { TopicsState } from '../publish/plan-topics.ts';
import type { Clock } from '../runtime/clock.ts';
import { SingleFlight, withDeadline } from '../runtime/waiting.ts';

interface TopicsCheckDeps {
  readonly clock: Clock;
  readonly ask: () => Promise<TopicsState>;
}

/** A good answer is good for so long: a probe every second must not make an admin connection every second. After any other one each report asks again. */
const maxAgeMs = 15_000;
/** Below the deadline of a health check, so that a broker that hangs is one that does not answer. */
const askWithinMs = 2_500;

/**
 * Two health checks by one question to Kafka. While Kafka is away, orders can be read, cancelled and halted, and updates wait in the log: that makes a process
 * degraded. It is unready where topics are not as planned, and before Kafka has answered for the first time.
 */
export class TopicsCheck {
  private readonly flight = new SingleFlight<TopicsState>();
  private goodUntilMs = Number.NEGATIVE_INFINITY;
  /** What Kafka last said of the topics. */
  private known: Exclude<TopicsState, { kind: 'silent' }> | undefined;
  private readonly deps: TopicsCheckDeps;

  constructor(deps: TopicsCheckDeps) {
    this.deps = deps;
  }

  addTo(health: HealthRegistry): void {
    health.add({ name: 'topics', effect: 'unready', check: () => this.topics() });
    health.add({ name: 'kafka', effect: 'degraded', check: () => this.kafka() });
  }

  private async topics(): Promise<CheckResult> {
    const { kind } = await this.look();
    if (this.known === undefined) return { ok: false, detail: 'Kafka has not answered since the start' };
    if (this.known.kind === 'faulty') return { ok: false, detail: this.known.faults.join('; ') };
    return {
      ok: true,
      detail: kind === 'silent' ? 'every topic was as planned when Kafka last answered' : 'every topic is as planned',
    };
  }

  private async kafka(): Promise<CheckResult> {
    const state = await this.look();
    if (state.kind !== 'silent') return { ok: true, detail: 'Kafka answers' };
    return { ok: false, detail: `Kafka does not answer, and updates wait in the log: ${state.why}` };
  }

  private async look(): Promise<TopicsState> {
    const { clock } = this.deps;
    if (clock.monotonicMs() < this.goodUntilMs) return { kind: 'planned' };
    const state = await this.ask();
    if (state.kind === 'planned') this.goodUntilMs = clock.monotonicMs() + maxAgeMs;
    if (state.kind !== 'silent') this.known = state;
    return state;
  }

  private async ask(): Promise<TopicsState> {
    try {
      return await withDeadline(this.deps.clock, askWithinMs, 'its answer', this.flight.run(this.deps.ask));
    } catch (error) {
      return { kind: 'silent', why: error instanceof Error ? error.message : String(error) };
    }
  }
}
