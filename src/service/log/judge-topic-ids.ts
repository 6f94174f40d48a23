import type { PublishedTopic } from '../../store/published-topics.ts';
import type { FoundTopicIds } from './kafkajs/read-topic-ids.ts';
import type { TopicNames } from './topics.ts';

export type TopicKind = keyof TopicNames;

/** A topic of this installation as Kafka has it now. */
export interface FoundTopic {
  readonly kind: TopicKind;
  readonly name: string;
  /** null: there is no such topic. Undefined: Kafka gives no id. */
  readonly id: string | null | undefined;
}

/** A topic that is not the one we published to. */
interface ReplacedTopic {
  readonly kind: TopicKind;
  readonly name: string;
  /** One sentence, with the id seen and the id expected. */
  readonly detail: string;
}

interface TopicIdFindings {
  readonly replaced: readonly ReplacedTopic[];
  /** Kinds never seen before: to be kept. */
  readonly first: readonly PublishedTopic[];
  /** Kafka gives no id for them, so nothing can be said. */
  readonly unknown: readonly string[];
}

/**
 * Compares the topics with those published to, kind by kind: a topic with another name is another
 * one too.
 */
export function judgeTopicIds(found: readonly FoundTopic[], published: readonly PublishedTopic[]): TopicIdFindings {
  const expected = new Map(published.map((topic) => [topic.kind, topic]));
  const replaced: ReplacedTopic[] = [];
  const first: PublishedTopic[] = [];
  const unknown: string[] = [];
  for (const { kind, name, id } of found) {
    const was = expected.get(kind);
    if (id === undefined) unknown.push(name);
    else if (was === undefined) first.push(...(id === null ? [] : [{ kind, name, topicId: id }]));
    else if (id !== was.topicId) replaced.push({ kind, name, detail: sentenceOf(name, id, was) });
  }
  return { replaced, first, unknown };
}

function sentenceOf(name: string, id: string | null, was: PublishedTopic): string {
  const expected = `the topic that was published to has ${was.topicId}`;
  if (id === null) return `${name} is gone, and what was on it: ${expected}`;
  if (name !== was.name)
    return `${name} (id ${id}) has nothing of ${was.name} (id ${was.topicId}), which was published to before`;
  return `${name} was deleted and made again, and what was on it is gone: its id is ${id}, ${expected}`;
}

/** This installation's topics with their ids. */
export function foundTopics(names: TopicNames, ids: FoundTopicIds): FoundTopic[] {
  return (Object.keys(names) as TopicKind[]).map((kind) => ({ kind, name: names[kind], id: ids.get(names[kind]) }));
}

/** The one next step, by kind. Each ends the doubt. */
export function remedyOf({ kind, name }: Pick<ReplacedTopic, 'kind' | 'name'>): string {
  switch (kind) {
    case 'updates':
      return `Run \`tidemark replay --to ${name} --force\`, which writes the log again.`;
    case 'state':
      return 'Run `tidemark verify --state-only --repair`, which writes every state again.';
    default:
      return `Nothing can write it again: read docs/runbooks/TopicReplaced.md, then run \`tidemark topics accept ${kind}\`.`;
  }
}
