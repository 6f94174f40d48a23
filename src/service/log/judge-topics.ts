/**
 * A fact about the topics, and its meaning. All processes share one Kafka, so a fact that makes
 * them unready takes all of them out of traffic at once: reads, cancels and halts too (decision
 * 052).
 *
 * - `unready`: nothing can be written as it should be: a missing topic, another count of
 *   partitions.
 * - `doubt`: everything flows, and data may be lost or refused: in `/status`, with an alert.
 * - `note`: everything flows, and nothing can be lost by it.
 */
type TopicEffect = 'unready' | 'doubt' | 'note';

/** A topic's setting that differs from the plan. */
export interface SettingChange {
  readonly setting: string;
  /** Empty: the broker shows none. */
  readonly found: string;
  readonly wanted: string;
  /** The records that Kafka deletes once the topic has the wanted value. Left out: none. */
  readonly deletes?: string;
}

interface Verdict {
  readonly effect: Exclude<TopicEffect, 'unready'>;
  readonly because: string;
}

/** -1 and nothing: without a limit. */
function limit(value: string): number {
  const number = Number(value);
  return value === '' || number < 0 ? Number.POSITIVE_INFINITY : number;
}

const doubt = (because: string): Verdict => ({ effect: 'doubt', because });
const note = (because: string): Verdict => ({ effect: 'note', because });

/** For each planned setting: the meaning of another value. */
const rules: Readonly<Record<string, (found: string, wanted: string, replication: number) => Verdict>> = {
  'retention.ms': (found, wanted) =>
    limit(found) > limit(wanted)
      ? note('records stay longer than planned')
      : doubt('records go earlier than planned, perhaps before a consumer has read them'),
  'retention.bytes': () => doubt('records go by the size of the topic, however new they are'),
  'cleanup.policy': () => doubt('other records go than planned'),
  'max.message.bytes': (found, wanted) =>
    limit(found) > limit(wanted)
      ? note('larger records are taken')
      : doubt('a record that is larger is refused, and those behind it wait'),
  'min.compaction.lag.ms': (found, wanted) =>
    limit(found) > limit(wanted)
      ? note('superseded states stay longer')
      : note('a slow reader sees fewer of the superseded states'),
  'segment.bytes': () => note('records are compacted or deleted in other pieces'),
  'min.insync.replicas': (found, wanted, replication) => {
    if (limit(found) < limit(wanted)) return doubt('a record that Kafka acknowledged may be lost with one broker');
    return limit(found) > replication
      ? doubt(`the topic has ${replication} replicas, so that nothing can be written`)
      : note('nothing can be written while one broker is away');
  },
};

/** A changed setting's meaning. One without a rule is a doubt. */
export function judgeSetting({ setting, found, wanted }: SettingChange, replication: number): Verdict {
  return rules[setting]?.(found, wanted, replication) ?? doubt('it is another than planned');
}

/** The records that a change to the plan deletes; undefined: none. */
export function deletedBy(setting: string, found: string, wanted: string): string | undefined {
  if (setting === 'retention.ms' && limit(wanted) < limit(found)) return `records older than ${days(Number(wanted))}`;
  // Compaction keeps each key's newest record, and such a topic needs no other.
  if (setting === 'cleanup.policy' && wanted === 'delete' && !found.split(',').includes('delete'))
    return 'records older than its retention';
  return undefined;
}

function days(ms: number): string {
  return `${Math.round(ms / 8_640_000) / 10} days`;
}
