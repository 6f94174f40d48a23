import type { Command } from '../../domain/command.ts';
import { encodeCommandResult } from '../../domain/encode-command-result.ts';
import type { Logger } from '../../observability/logger.ts';
import { bigintArray, textArray } from '../orders/binary-array.ts';
import { readableRows } from '../rows.ts';
import { type PoolDeps, retryQuery } from '../session/retry-transaction.ts';
import { decodeCommand, type StoredCommand } from './decode-command.ts';
import { type JournalNumbers, stepKey } from './journal-memory.ts';

/** A command's step, as sent to Kafka. */
export interface ResultRow {
  readonly shard: number;
  /** Of its row in the shard. */
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
export interface ResultLog {
  /**
   * Steps behind the last published one, for commands in these shards, lowest id first, at most
   * `limit`. One command's ids rise with its versions, and none is seen before its predecessor.
   * `acknowledged`: by Kafka, and not marked yet; nothing up to them is read.
   */
  readUnpublished(limit: number, shards: readonly number[], acknowledged?: readonly ResultRow[]): Promise<ResultRow[]>;
  /**
   * Kafka has acknowledged them, and all before them in their shards. Safe to call again, from any
   * process: it stays true.
   */
  markPublished(rows: readonly ResultRow[]): Promise<void>;
}

interface ResultLogDeps extends PoolDeps {
  /** The journal's: open numbers are waited for. Left out: none is. */
  readonly numbers?: JournalNumbers;
  readonly log?: Pick<Logger, 'error'>;
}

interface Row {
  readonly shard: number;
  readonly seq: string;
  readonly version: number;
  /** Null: it is no step. */
  readonly command_id: string | null;
  readonly command: StoredCommand | null;
  readonly recorded_ms: string;
  readonly generation: number | null;
}

/** The position to be saved. */
type Passed = Pick<ResultRow, 'shard' | 'id'> & Partial<Pick<ResultRow, 'key' | 'version'>>;

/**
 * Lowest number first, in each shard below its first open number, and behind what Kafka has. $5:
 * the steps known in memory.
 */
const unpublishedSteps = `
  select j.shard, j.seq, j.version, public.time_to_ms(j.recorded_at) as recorded_ms, (select max(generation) from public.lanes) as generation,
    case when j.kind in ('opening', 'step') then j.command_id end as command_id,
    case when j.kind in ('opening', 'step') and j.command_id || ' ' || j.version <> all($5::text[]) then public.command_json(j.command_id, j.number) end as command
  from unnest($2::bigint[], $3::bigint[], $4::bigint[]) as k(shard, below, above) join public.shards s on s.shard = k.shard
  join public.result_positions p on p.shard = k.shard and p.epoch = s.epoch
  cross join lateral (
    select * from public.journal j where j.shard = p.shard and j.seq > greatest(p.seq, k.above) and (k.below is null or j.seq < k.below) order by j.seq limit $1) as j
  order by j.seq limit $1`;

/**
 * The port `ResultLog` in Postgres: the journal's rows behind their shard's position. A row is
 * read only once every lower number in its shard is there, or never comes: one holder gives them,
 * and knows which are under way; a takeover leaves none from the holder before.
 */
export class PostgresResultLog implements ResultLog {
  private readonly deps: ResultLogDeps;

  constructor(deps: ResultLogDeps) {
    this.deps = deps;
  }

  async readUnpublished(
    limit: number,
    shards: readonly number[],
    acknowledged: readonly ResultRow[] = [],
  ): Promise<ResultRow[]> {
    const { numbers, log } = this.deps;
    this.forget(acknowledged);
    await numbers?.settle();
    // First the bound, and then the read: a write begun after this is above it.
    const below = shards.map((shard) => numbers?.closedBelow(shard) ?? null);
    const newest = newestOf(acknowledged);
    const above = shards.map((shard) => newest.get(shard)?.id ?? null);
    // One that is dropped meanwhile is still here.
    const kept = new Map(numbers?.steps);
    const values = [limit, bigintArray(shards), bigintArray(below), bigintArray(above), textArray([...kept.keys()])];
    const rows = await retryQuery<Row>(this.deps, { name: 'unpublished_steps', text: unpublishedSteps, values });
    // An unreadable step holds up no others: consumers see by its command's versions that one is
    // missing.
    const found = readableRows(
      rows.filter((row) => row.command_id !== null),
      (row) => resultRow(row, kept.get(stepKey(String(row.command_id), row.version))),
      (err) => log?.error({ err }, 'a step of a command is unreadable; it is not published'),
    );
    // None is published, and the next look does not meet them again.
    if (found.length > 0 || rows.length === 0) return found;
    await this.save(rows.map(({ shard, seq }) => ({ shard, id: BigInt(seq) })));
    return rows.length < limit ? [] : this.readUnpublished(limit, shards, acknowledged);
  }

  async markPublished(rows: readonly ResultRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.save(rows);
    this.forget(rows);
  }

  /** Steps that Kafka has: they are not read again, so each look names only the others. */
  private forget(rows: readonly ResultRow[]): void {
    for (const { key, version } of rows) this.deps.numbers?.steps.delete(stepKey(key, version));
  }

  /**
   * Waits for no disk: a loss in a server's crash costs a repeat. A database may lose commits and
   * give a number out again, so the row has to be the same.
   */
  private async save(rows: readonly Passed[]): Promise<void> {
    const highest = [...newestOf(rows).values()];
    await retryQuery(this.deps, {
      name: 'save_result_positions',
      text: `with at_once as materialized (select set_config('synchronous_commit', 'off', true))
          update public.result_positions p set seq = k.seq from at_once, unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) as k(shard, seq, key, version)
          where p.shard = k.shard and p.seq < k.seq and exists (select from public.journal j where j.shard = k.shard and j.seq = k.seq
            and (k.key is null or j.command_id = k.key::uuid and j.version = k.version))`,
      values: [
        bigintArray(highest.map(({ shard }) => shard)),
        bigintArray(highest.map(({ id }) => id)),
        textArray(highest.map(({ key }) => key ?? null)),
        bigintArray(highest.map(({ version }) => version ?? null)),
      ],
    });
  }
}

/** The highest of each shard. */
function newestOf<Row extends Passed>(rows: readonly Row[]): Map<number, Row> {
  const newest = new Map<number, Row>();
  for (const row of rows) if (row.id > (newest.get(row.shard)?.id ?? -1n)) newest.set(row.shard, row);
  return newest;
}

function resultRow(
  { shard, seq, version, generation, recorded_ms, ...row }: Row,
  kept: Command | undefined,
): ResultRow {
  const command = kept ?? decodeCommand(row.command as StoredCommand);
  const payload = encodeCommandResult(command, generation ?? 1);
  return { shard, id: BigInt(seq), key: command.commandId, version, payload, recordedMs: Number(recorded_ms) };
}
