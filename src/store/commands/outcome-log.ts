import type { Pool } from 'pg';
import { encodeCommandOutcome } from '../../domain/encode-command-outcome.ts';
import type { Logger } from '../../observability/logger.ts';
import { type RetryDeps, retryTransaction } from '../session/retry-transaction.ts';
import { storableJson } from '../session/write-once.ts';
import { readableRows } from '../unreadable-row.ts';
import { decodeCommand, type StoredCommand } from './decode-command.ts';
import { GroupCommit } from './group-commit.ts';

/** A command's step, as sent to Kafka. */
export interface OutcomeRow {
  readonly id: bigint;
  /** The command's id: its steps share a partition. */
  readonly key: string;
  /** The command's, after the step. */
  readonly version: number;
  /** JSON text. Its `eventId` names command and version. */
  readonly payload: string;
  /** When the step committed, milliseconds since the epoch, by the database's clock. */
  readonly recordedMs: number;
}

/**
 * The command side's outbox. Every call has a deadline; rejects when the database can't be reached.
 */
export interface OutcomeLog {
  /**
   * Steps not yet marked as published, for commands in these shards, lowest id first, at most
   * `limit`. One command's ids rise with its versions, and none is seen before its predecessor.
   */
  readUnpublished(limit: number, shards: readonly number[]): Promise<OutcomeRow[]>;
  /** Kafka has acknowledged them. Safe to call again, from any process: it stays true. */
  markPublished(rows: readonly OutcomeRow[]): Promise<void>;
}

interface OutcomeLogDeps extends RetryDeps {
  readonly pool: Pool;
  /** The journal's, so that marks share a commit with steps. Left out: its own. */
  readonly groups?: GroupCommit;
  readonly log?: Pick<Logger, 'error'>;
}

interface Row {
  readonly id: string;
  readonly command_id: string;
  readonly version: number;
  readonly snapshot: StoredCommand;
  readonly recorded_ms: string;
  readonly generation: number | null;
}

/**
 * Not prepared: a plan from a time with few events would read all of them once there are many. At
 * most ten such reads a second.
 */
const readUnpublished = `
  select o.id, o.command_id, o.version, public.event_json(e) as snapshot, public.time_to_ms(e.recorded_at) as recorded_ms,
    (select max(generation) from public.lanes) as generation
  from (select id, command_id, version from public.command_outbox where shard = any($2) and id <> all($3::bigint[]) order by id limit $1) as o
  join public.command_events e on e.command_id = o.command_id and e.version = o.version order by o.id`;

/**
 * The port `OutcomeLog` in Postgres. Ids are given out before they are committed, so a lower one
 * may appear after a higher one. So each event has a row of its own in `command_outbox` until it is
 * published, and no position is kept. One command's ids appear in order, because its row is locked
 * from one step to the next.
 */
export class PostgresOutcomeLog implements OutcomeLog {
  private readonly deps: OutcomeLogDeps & { readonly groups: GroupCommit };
  /**
   * Steps that can't be read. They stay in the outbox and hold up no others: consumers see by the
   * versions of their command that one is missing.
   */
  private readonly unreadable = new Set<string>();

  constructor(deps: OutcomeLogDeps) {
    this.deps = { ...deps, groups: deps.groups ?? new GroupCommit(deps) };
  }

  async readUnpublished(limit: number, shards: readonly number[]): Promise<OutcomeRow[]> {
    const { rows } = await retryTransaction(this.deps, () =>
      this.deps.pool.query<Row>(readUnpublished, [limit, shards, [...this.unreadable]]),
    );
    return readableRows(rows, outcomeRow, (err, { id }) => {
      this.unreadable.add(id);
      this.deps.log?.error({ err }, 'a step of a command is unreadable; it is not published');
    });
  }

  async markPublished(rows: readonly OutcomeRow[]): Promise<void> {
    if (rows.length === 0) return;
    const steps = rows.map(({ id, key, version }) => [String(id), key, version]);
    await this.deps.groups.write({ name: 'mark_published', body: storableJson(steps) });
  }
}

function outcomeRow({ id, command_id, version, snapshot, recorded_ms, generation }: Row): OutcomeRow {
  return {
    id: BigInt(id),
    key: command_id,
    version,
    payload: encodeCommandOutcome(decodeCommand(snapshot), generation ?? 1),
    recordedMs: Number(recorded_ms),
  };
}
