import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { Rounds } from '../../runtime/rounds.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import type { PublishedTopics } from '../../store/published-topics.ts';
import { type FoundTopic, judgeTopicEnds } from '../log/judge-topic-ends.ts';
import type { TopicDoubts } from './topics-check.ts';

interface ReplacedTopicsDeps extends ClockAndLogger {
  readonly metrics: Pick<Metrics['process'], 'topicsReplaced'>;
  readonly findTopics: () => Promise<readonly FoundTopic[]>;
  readonly published: Pick<PublishedTopics, 'read' | 'keep'>;
}

/** A person who has written a topic again sees the doubt end within this time. */
const lookEveryMs = 30_000;
const askWithinMs = 20_000;

/**
 * Compares our topics' ends with the highest ones seen, kept in the database. A topic deleted and
 * made again looks as planned, but its records are gone, and its ends are lower. It also looks
 * while everything runs, since Kafka does not say so.
 *
 * Invariant: only a person's act ends a seen loss (`replay`, `verify --repair`, `topics accept`),
 * however far the new topic has grown. A question without an answer leaves the doubts as they are.
 */
export class ReplacedTopics {
  readonly rounds: Rounds;
  private replaced: TopicDoubts = { details: [], sinceMs: undefined };
  private readonly deps: ReplacedTopicsDeps;

  constructor(deps: ReplacedTopicsDeps) {
    this.deps = deps;
    this.rounds = new Rounds(
      { clock: deps.clock, round: () => this.tryLook() },
      { name: 'replaced-topics', everyMs: lookEveryMs },
    );
  }

  get doubts(): TopicDoubts {
    return this.replaced;
  }

  private async tryLook(): Promise<void> {
    const { clock, log } = this.deps;
    await withDeadline(clock, askWithinMs, 'comparing the ends of topics', this.look()).catch((err: unknown) =>
      log.debug({ err }, 'the ends of the topics could not be compared with those that were seen before'),
    );
  }

  private async look(): Promise<void> {
    const { findTopics, published } = this.deps;
    // In this order: another process may keep higher ends meanwhile.
    const before = await published.read();
    const { replaced, seen } = judgeTopicEnds(await findTopics(), before);
    await published.keep(seen, before);
    this.learn(replaced.map(({ detail }) => detail));
  }

  private learn(details: readonly string[]): void {
    const { clock, log, metrics } = this.deps;
    const before = this.replaced.details.join('; ');
    const sinceMs = details.length === 0 ? undefined : (this.replaced.sinceMs ?? clock.nowMs());
    this.replaced = { details, sinceMs };
    metrics.topicsReplaced.set(details.length);
    const now = details.join('; ');
    if (now === before) return;
    if (now === '') log.info({}, 'the topics have what was published to them again');
    else log.error({ topics: now }, 'a topic lacks what was published to it: see docs/runbooks/TopicReplaced.md');
  }
}
