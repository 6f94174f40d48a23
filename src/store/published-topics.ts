import type { Pool } from 'pg';

/** The topic with the published records of one kind. */
export interface PublishedTopic {
  /** A key of `TopicNames`. */
  readonly kind: string;
  readonly name: string;
  /** The offset behind the last record, by partition, when a process last looked. */
  readonly ends: readonly string[];
  /** One sentence: the records up to `ends` were gone. Only a person ends that. */
  readonly lost: string | null;
}

/**
 * The topics published to, one row for each kind. Every method rejects when the database can't be
 * reached.
 */
export class PublishedTopics {
  private readonly pool: Pick<Pool, 'query'>;

  constructor(pool: Pick<Pool, 'query'>) {
    this.pool = pool;
  }

  /** Empty before the service has seen its topics for the first time. */
  async read(): Promise<PublishedTopic[]> {
    const { rows } = await this.pool.query<PublishedTopic>(
      'select kind, name, ends::text[] as ends, lost from public.published_topics order by kind',
    );
    return rows;
  }

  /**
   * Keeps what a look saw, where the row is as it was judged by: another process may have kept
   * higher ends meanwhile, or a person accepted the topic. Not where records are known to be lost,
   * or under another name: only `accept` changes those.
   */
  async keep(topics: readonly PublishedTopic[], judgedBy: readonly PublishedTopic[]): Promise<void> {
    const was = `select array(select json_array_elements_text(b -> 'ends'))::bigint[] from json_array_elements($2::json) as b where b ->> 'kind' = excluded.kind`;
    const isSame = `published_topics.lost is null and published_topics.name = excluded.name and published_topics.ends = (${was})`;
    await this.write(topics, `where ${isSame}`, [JSON.stringify(judgedBy)]);
  }

  /**
   * From now on these count as the topics published to. Records in the earlier topics are written
   * again, or given up.
   */
  async accept(topics: readonly PublishedTopic[]): Promise<void> {
    await this.write(topics, '', []);
  }

  private async write(topics: readonly PublishedTopic[], only: string, values: readonly string[]): Promise<void> {
    if (topics.length === 0) return;
    await this.pool.query(
      `insert into public.published_topics (kind, name, ends, lost)
       select t ->> 'kind', t ->> 'name', array(select json_array_elements_text(t -> 'ends'))::bigint[], t ->> 'lost'
       from json_array_elements($1::json) as t
       on conflict (kind) do update set name = excluded.name, ends = excluded.ends, lost = excluded.lost ${only}`,
      [JSON.stringify(topics), ...values],
    );
  }
}
