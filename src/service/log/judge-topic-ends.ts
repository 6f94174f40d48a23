import type { Admin } from 'kafkajs';
import type { PublishedTopic } from '../../store/published-topics.ts';
import type { TopicNames } from './topics.ts';

export type TopicKind = keyof TopicNames;

/** A topic of this installation as Kafka has it now. */
export interface FoundTopic {
  readonly kind: TopicKind;
  readonly name: string;
  /** The offset behind the last record, by partition. Undefined: there is no such topic. */
  readonly ends: readonly string[] | undefined;
}

/** A topic without its published records. */
interface ReplacedTopic {
  readonly kind: TopicKind;
  readonly name: string;
  /** One sentence, with the offsets seen and expected. */
  readonly detail: string;
}

interface TopicEndFindings {
  readonly replaced: readonly ReplacedTopic[];
  /** For `PublishedTopics.keep`. */
  readonly seen: readonly PublishedTopic[];
}

/** Our topics with their ends. Makes no topic; rejects when Kafka does not answer. */
export async function findTopics(admin: Admin, names: TopicNames): Promise<FoundTopic[]> {
  const existing = new Set(await admin.listTopics());
  const endsOf = async (name: string) => {
    const ends: string[] = [];
    for (const { partition, offset } of await admin.fetchTopicOffsets(name)) ends[partition] = offset;
    return ends;
  };
  return Promise.all(
    (Object.keys(names) as TopicKind[]).map(async (kind) => {
      const name = names[kind];
      return { kind, name, ends: existing.has(name) ? await endsOf(name) : undefined };
    }),
  );
}

/**
 * Compares the topics with those published to, kind by kind. An end only rises, whatever retention
 * and compaction delete, so `published` has to be read before `found`. A topic with another name is
 * another one too.
 */
export function judgeTopicEnds(found: readonly FoundTopic[], published: readonly PublishedTopic[]): TopicEndFindings {
  const expected = new Map(published.map((topic) => [topic.kind, topic]));
  const replaced: ReplacedTopic[] = [];
  const seen: PublishedTopic[] = [];
  for (const topic of found) {
    const { kind, name, ends } = topic;
    const detail = lossOf(topic, expected.get(kind));
    if (detail !== undefined) replaced.push({ kind, name, detail });
    if (ends !== undefined) seen.push({ kind, name, ends, lost: detail ?? null });
  }
  return { replaced, seen };
}

function lossOf({ name, ends }: FoundTopic, was: PublishedTopic | undefined): string | undefined {
  if (was === undefined) return undefined;
  if (name !== was.name) return `${name} has nothing of ${was.name}, which was published to before`;
  if (was.lost !== null) return was.lost;
  if (ends === undefined) return `${name} is gone, and what was on it`;
  const at = was.ends.findIndex((end, partition) => BigInt(end) > BigInt(ends[partition] ?? 0));
  if (at < 0) return undefined;
  return `${name} was deleted and made again, or lost records: partition ${at} ended at ${ends[at] ?? 0} after it had ended at ${was.ends[at]}`;
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
