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
   * Keeps what a look saw, where the topic of this kind has the same name, and nothing of it is
   * known to be lost: only `accept` changes those. A late look takes back no higher end.
   */
  async keep(topics: readonly PublishedTopic[]): Promise<void> {
    const ends = `case when excluded.lost is null then array(
        select greatest(kept, seen) from unnest(published_topics.ends, excluded.ends) with ordinality as t(kept, seen, place) order by place
      ) else excluded.ends end`;
    await this.write(topics, ends, 'where published_topics.lost is null and published_topics.name = excluded.name');
  }

  /**
   * From now on these count as the topics published to. Records in the earlier topics are written
   * again, or given up.
   */
  async accept(topics: readonly PublishedTopic[]): Promise<void> {
    await this.write(topics, 'excluded.ends', '');
  }

  private async write(topics: readonly PublishedTopic[], ends: string, only: string): Promise<void> {
    if (topics.length === 0) return;
    await this.pool.query(
      `insert into public.published_topics (kind, name, ends, lost)
       select t ->> 'kind', t ->> 'name', array(select json_array_elements_text(t -> 'ends'))::bigint[], t ->> 'lost'
       from json_array_elements($1::json) as t
       on conflict (kind) do update set name = excluded.name, ends = ${ends}, lost = excluded.lost ${only}`,
      [JSON.stringify(topics)],
    );
  }
}
