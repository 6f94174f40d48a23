import type { Pool } from 'pg';

/** The topic with the published records of one kind. */
export interface PublishedTopic {
  /** A key of `TopicNames`. */
  readonly kind: string;
  readonly name: string;
  /** As Kafka's own tools print it. */
  readonly topicId: string;
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
      'select kind, name, topic_id as "topicId" from public.published_topics order by kind',
    );
    return rows;
  }

  /** Keeps topics for kinds without one. Another process may have been first: its topics stay. */
  async keepFirst(topics: readonly PublishedTopic[]): Promise<void> {
    await this.write(topics, 'do nothing');
  }

  /**
   * From now on these count as the topics published to. Records in the earlier topics are written
   * again, or given up.
   */
  async accept(topics: readonly PublishedTopic[]): Promise<void> {
    await this.write(topics, '(kind) do update set name = excluded.name, topic_id = excluded.topic_id, since = now()');
  }

  private async write(topics: readonly PublishedTopic[], onConflict: string): Promise<void> {
    if (topics.length === 0) return;
    await this.pool.query(
      `insert into public.published_topics (kind, name, topic_id)
       select t ->> 'kind', t ->> 'name', t ->> 'topicId' from json_array_elements($1::json) as t on conflict ${onConflict}`,
      [JSON.stringify(topics)],
    );
  }
}
