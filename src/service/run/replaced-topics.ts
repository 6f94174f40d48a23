import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { Rounds } from '../../runtime/rounds.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import type { PublishedTopics } from '../../store/published-topics.ts';
import { type FoundTopic, judgeTopicIds } from '../log/judge-topic-ids.ts';
import type { TopicDoubts } from './topics-check.ts';

interface ReplacedTopicsDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly metrics: Pick<Metrics['process'], 'topicsReplaced'>;
  readonly findTopics: () => Promise<readonly FoundTopic[]>;
  readonly published: Pick<PublishedTopics, 'read' | 'keepFirst'>;
}

/** A person who has written a topic again sees the doubt end within this time. */
const lookEveryMs = 30_000;
const askWithinMs = 20_000;

/**
 * Compares our topics' ids with the ids in the database, from the topics records were published to.
 * A topic deleted and made again looks as planned, but its records are gone. It also looks while
 * everything runs, since Kafka does not say so.
 *
 * Invariant: only a person's act replaces a kept id (`replay`, `audit --repair`, `topics accept`).
 * A question without an answer leaves the doubts as they are, and so does a Kafka without ids.
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
    await withDeadline(clock, askWithinMs, 'comparing the ids of topics', this.look()).catch((err: unknown) =>
      log.debug({ err }, 'the ids of the topics could not be compared with those that were published to'),
    );
  }

  private async look(): Promise<void> {
    const [found, published] = await Promise.all([this.deps.findTopics(), this.deps.published.read()]);
    const { replaced, first } = judgeTopicIds(found, published);
    await this.deps.published.keepFirst(first);
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
    if (now === '') log.info({}, 'the topics are those that were published to again');
    else
      log.error(
        { topics: now },
        'a topic is another than the one that was published to: see docs/runbooks/TopicReplaced.md',
      );
  }
}
