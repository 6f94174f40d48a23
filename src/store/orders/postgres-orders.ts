import type { Pool } from 'pg';
import { orderJsonOf } from '../../domain/encode-update.ts';
import { decodeHead, type Head, type UnreadableHead } from '../../domain/head.ts';
import type { Stream } from '../../domain/order.ts';
import { traits } from '../../domain/streams.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Logger } from '../../observability/logger.ts';
import { connectionOptions } from '../session/pool.ts';
import { PrimarySession } from '../session/primary-session.ts';
import { describeCode, isTransient, retryTransaction, sqlstateOf } from '../session/retry-transaction.ts';
import { applyBatch, Scratch } from './apply-batch.ts';
import { textArray } from './binary-array.ts';
import {
  type ApplyResult,
  type Batch,
  type Binding,
  type OrderStore,
  RefusedReadError,
  type Unproven,
} from './order-store.ts';

interface OrderStoreDeps extends Ambient {
  /** For reads. Batches have their own connection. */
  readonly pool: Pool;
  /** Those known in memory. Left out: each is read. */
  readonly attempts?: { get(attemptId: string): Binding | undefined };
}

interface OrderStoreOptions {
  readonly url: string;
  /** Rows in a partition of the log, in case one is missing. */
  readonly partitionRows: number;
}

/**
 * The port `OrderStore` in Postgres. `close` ends the lane's connection; the pool belongs to the
 * caller.
 */
export class PostgresOrderStore implements OrderStore {
  private readonly connection: LaneConnection;
  /** Scratches no batch in flight is using: as many as were ever in flight at once. */
  private readonly scratches: Scratch[] = [];
  private readonly deps: OrderStoreDeps;
  private readonly options: OrderStoreOptions;

  constructor(deps: OrderStoreDeps, options: OrderStoreOptions) {
    this.connection = new LaneConnection(deps.log, options.url);
    this.deps = deps;
    this.options = options;
  }

  readHeads(keys: readonly string[]): Promise<Map<string, Head | UnreadableHead>> {
    return this.read(() => readHeads(this.deps.pool, keys));
  }

  async readBindings(attemptIds: readonly string[]): Promise<Map<string, Binding>> {
    const { pool, attempts } = this.deps;
    const found = new Map<string, Binding>();
    const unknown: string[] = [];
    for (const id of attemptIds) {
      const known = attempts?.get(id);
      if (known === undefined) unknown.push(id);
      else found.set(id, known);
    }
    if (unknown.length > 0)
      for (const [id, binding] of await this.read(() => readBindings(pool, unknown))) found.set(id, binding);
    return found;
  }

  readUnproven(lane: number, generation: number): Promise<Unproven | undefined> {
    return this.read(() => readUnproven(this.deps.pool, lane, generation));
  }

  async applyBatch(batch: Batch): Promise<ApplyResult> {
    const client = await this.connection.open().catch((error: unknown) => describeCode(error));
    if (typeof client === 'string') return { kind: 'retry', code: client };
    const scratch = this.scratches.pop() ?? new Scratch();
    const result = await applyBatch(client, batch, scratch);
    this.scratches.push(scratch);
    if (result.kind === 'retry' && result.code === 'NO_PARTITION') await this.makePartitions();
    return result;
  }

  private async read<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await retryTransaction(this.deps, work);
    } catch (error) {
      if (isTransient(error)) throw error;
      // Without an SQLSTATE the answer came, and could not be read: to ask for ever would not help.
      const code = sqlstateOf(error) ?? 'UNREADABLE';
      throw new RefusedReadError(code, error instanceof Error ? error.message : '', { cause: error });
    }
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  /**
   * The timer that makes partitions ahead has not run for millions of rows, so the lane makes them
   * itself.
   */
  private async makePartitions(): Promise<void> {
    const { pool, log } = this.deps;
    try {
      await pool.query('select public.ensure_log_partitions($1)', [this.options.partitionRows]);
      log.info({}, 'the log had no partition for the next row, as after a jump of its numbers; it was made now');
    } catch (err) {
      log.error({ err }, 'the log has no partition for the next row, and none can be made');
    }
  }
}

interface HeadColumns {
  key: string;
  revision: string;
  source_version: string | null;
  kept_state: string | null;
  payload: string | null;
  join_state: string;
}

/**
 * The heads known under the keys. Keys are `<stream>:<orderId>`; an order id may itself contain
 * colons.
 */
async function readHeads(pool: Pool, keys: readonly string[]): Promise<Map<string, Head | UnreadableHead>> {
  // Postgres' text has no NUL, so such an order can't be known. Asking would fail for all the other
  // keys as well, every time.
  const askable = keys.filter((key) => !key.includes('\0'));
  if (askable.length === 0) return new Map();
  const { rows } = await pool.query<HeadColumns>({
    name: 'heads_of',
    text: 'select * from public.heads_of($1)',
    values: [textArray(askable)],
  });
  const heads = new Map<string, Head | UnreadableHead>();
  const faults = new Map<string, string>();
  for (const row of rows) {
    const { key, kept_state: kept, payload, join_state: join, source_version: sourceVersion } = row;
    const state = kept ?? orderJsonOf(payload ?? '');
    try {
      heads.set(key, decodeHead({ state, join, revision: Number(row.revision), sourceVersion }, key));
    } catch (error) {
      faults.set(key, kept === null && payload === null ? 'it is nowhere' : String(error));
    }
  }
  if (faults.size > 0) for (const [key, head] of await readColumns(pool, faults)) heads.set(key, head);
  return heads;
}

/** What the tables have of orders whose states can't be read, and why they can't. */
async function readColumns(pool: Pool, faults: ReadonlyMap<string, string>): Promise<[string, UnreadableHead][]> {
  const { rows } = await pool.query<{
    key: string;
    account_id: string;
    revision: string;
    source_version: string | null;
    attempt_id: string | null;
  }>(
    `select k.key, o.account_id, o.revision, o.source_version, b.attempt_id from unnest($1::text[]) as k(key)
     join public.orders o on o.stream = split_part(k.key, ':', 1) and o.order_id = substr(k.key, strpos(k.key, ':') + 1)
     left join public.order_bindings b on o.join_state ->> 'incarnation' is null and b.stream = o.stream and b.order_id = o.order_id`,
    [[...faults.keys()]],
  );
  return rows.map(({ key, account_id: accountId, revision, source_version, attempt_id }) => [
    key,
    {
      ...{ fault: (faults.get(key) ?? '').slice(0, 200), accountId, revision: Number(revision) },
      ...(source_version !== null && { sourceVersion: BigInt(source_version) }),
      ...(attempt_id !== null && { attemptId: attempt_id }),
    },
  ]);
}

interface BindingColumns {
  attempt_id: string;
  command_id: string;
  caller_ref: string | null;
  stream: Stream;
  account_id: string;
  side: string | null;
}

/** The command under each attempt id. Ids that are not ours are left out. */
async function readBindings(pool: Pool, attemptIds: readonly string[]): Promise<Map<string, Binding>> {
  // The ids come from the platform: see `readHeads`.
  const askable = attemptIds.filter((id) => !id.includes('\0'));
  if (askable.length === 0) return new Map();
  const { rows } = await pool.query<BindingColumns>({
    name: 'bindings_of',
    text: 'select * from public.bindings_of($1)',
    values: [textArray(askable)],
  });
  // A replace in place makes no order, so none has its id.
  const making = rows.filter(({ side, stream }) => side !== null || traits[stream].replaces === 'new_order');
  return new Map(
    making.map((row) => [
      row.attempt_id,
      {
        commandId: row.command_id,
        ...(row.caller_ref === null ? {} : { callerRef: row.caller_ref }),
        stream: row.stream,
        accountId: row.account_id,
        side: row.side,
      },
    ]),
  );
}

/**
 * The one pipelined connection for batches. They are executed in the order of sending, each as its
 * own transaction.
 *
 * States: none → connecting → open → none (broken, over, or closed). Invariant: a connection that
 * failed once, or whose server takes no writes, is never used again.
 *
 * One, not two: two backends would race for the lane's row, and whenever the second batch won, it
 * was refused as out of order (the measurement's first run ended like that). Two would not be
 * faster either: the second batch can't begin before the first has committed.
 */
class LaneConnection {
  private current: Promise<PrimarySession> | undefined;
  private session: PrimarySession | undefined;
  private readonly log: Logger;
  private readonly url: string;

  constructor(log: Logger, url: string) {
    this.log = log;
    this.url = url;
  }

  /**
   * The open connection; connects when there is none. Rejects when that fails: then nothing was
   * sent.
   */
  open(): Promise<PrimarySession> {
    if (this.current !== undefined && this.session?.over !== true) return this.current;
    const client = new PrimarySession({ ...connectionOptions(this.url, 'tidemark-lane'), pipeline: true });
    const opening = client.connect().then(() => client);
    const forget = () => {
      if (this.current === opening) this.current = undefined;
    };
    client.on('error', (err) => {
      this.log.debug({ err }, "the lane's database connection was lost");
      forget();
    });
    client.on('end', forget);
    opening.catch(forget);
    this.current = opening;
    this.session = client;
    return opening;
  }

  /**
   * Waits for the answers to everything sent, then ends the connection. The next `open` would
   * connect again.
   */
  async close(): Promise<void> {
    const opening = this.current;
    this.current = undefined;
    const client = await opening?.catch(() => undefined);
    await client?.end();
  }
}

/**
 * The last proof is looked for among this many newest rows. There is one every 15 s while an
 * account is live, so this is enough for 13,000 updates a second. A term begins to write behind it:
 * 45,000 rows of 950 bytes took 0.2 to 0.3 s.
 */
const lookedAtRows = 200_000;

/**
 * The updates behind the lane's last proof, as ingest would have counted them
 * (`service/orders/prepare-batch.ts`). Postgres makes the sum, so at most one row leaves it. The
 * last proof is in batch `upTo` + 1, so nearly every row read counts.
 */
const unprovenText = `
  with proof as (
    select n.seq, (n.payload::json #>> '{proof,upTo}')::bigint as up_to, (n.payload::json #>> '{proof,generation}')::integer as generation
    from (select seq, stream, payload from public.order_updates where lane = $1 order by seq desc limit $3) as n
    where n.stream = 'watermarks' and n.payload like '%"proof":{%'
    order by n.seq desc limit 1
  ), bound as (
    select p.up_to, coalesce((
      select u.seq from public.order_updates u where u.lane = $1 and u.seq < p.seq and u.batch <= p.up_to order by u.seq desc limit 1
    ), 0) as seq
    from proof p where p.generation = $2
  )
  select b.up_to, c.updates, c.sum
  from bound b cross join lateral (
    select count(*) as updates,
      coalesce(sum(('x' || left(encode(sha256(convert_to(u.payload, 'UTF8')), 'hex'), 12))::bit(48)::bigint), 0) % (1::bigint << 48) as sum
    from public.order_updates u where u.lane = $1 and u.seq > b.seq and u.stream <> 'watermarks'
  ) as c`;

/** Undefined: the lane has no proof in this generation among its newest rows. */
async function readUnproven(pool: Pool, lane: number, generation: number): Promise<Unproven | undefined> {
  const { rows } = await pool.query<{ up_to: string; updates: string; sum: string }>(unprovenText, [
    lane,
    generation,
    lookedAtRows,
  ]);
  const [row] = rows;
  return row && { after: BigInt(row.up_to), count: Number(row.updates), sum: Number(row.sum) };
}
