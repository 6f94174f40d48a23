import type { Pool } from 'pg';
import type { AcquireResult, LaneHold, LaneStore } from '../ingest/lane-store.ts';

interface HoldRow {
  epoch: string;
  batch: string;
  generation: number;
}

interface LaneRow {
  holder: string | null;
  age_ms: string;
}

/**
 * The port `LaneStore` in Postgres: one row a lane, every change of it one statement. None of them is retried here: raising the epoch twice for one
 * call would look like a loss to whoever got the first answer. The caller asks again, by `acquire` if need be.
 */
export class PostgresLaneStore implements LaneStore {
  private readonly pool: Pool;
  private readonly generationFloor: number;

  /** `pool`: not the one that serves reads, a renewal must not queue behind them. `generationFloor`: who takes the lane raises its generation to it, for good. */
  constructor(deps: { readonly pool: Pool }, options: { readonly generationFloor?: number } = {}) {
    this.pool = deps.pool;
    this.generationFloor = options.generationFloor ?? 1;
  }

  async acquire(lane: number, holder: string, expireAfterMs: number): Promise<AcquireResult> {
    const hold = (await this.takeOver(lane, holder, expireAfterMs)) ?? (await this.found(lane, holder));
    if (hold !== undefined) return { kind: 'held', ...hold };
    const { rows } = await this.pool.query<LaneRow>(
      `select holder, extract(epoch from clock_timestamp() - renewed_at) * 1000 as age_ms from public.lanes where lane = $1`,
      [lane],
    );
    return { kind: 'busy', holder: rows[0]?.holder ?? '', ageMs: Math.round(Number(rows[0]?.age_ms ?? 0)) };
  }

  async renew(lane: number, epoch: bigint): Promise<boolean> {
    const { rowCount } = await this.pool.query(
      'update public.lanes set renewed_at = clock_timestamp() where lane = $1 and epoch = $2',
      [lane, epoch.toString()],
    );
    return rowCount === 1;
  }

  async reclaim(lane: number, epoch: bigint): Promise<LaneHold | undefined> {
    // One statement is both: the update waits for the row, then reads it again, so the number is the one that the orphan left.
    const { rows } = await this.pool.query<HoldRow>(
      `update public.lanes set epoch = epoch + 1, renewed_at = clock_timestamp() where lane = $1 and epoch = $2 returning epoch, batch, generation`,
      [lane, epoch.toString()],
    );
    return holdOf(rows);
  }

  async release(lane: number, epoch: bigint): Promise<void> {
    // The epoch rises as well: nothing that we may have left in a buffer somewhere can write after this.
    await this.pool.query('update public.lanes set holder = null, epoch = epoch + 1 where lane = $1 and epoch = $2', [
      lane,
      epoch.toString(),
    ]);
  }

  /**
   * A row renewed in the future was written before the database's clock was set back: it says as little as an old one. The condition holds no lock where
   * it is false, so a standby that looks every second is no burden on the lane.
   */
  private async takeOver(lane: number, holder: string, expireAfterMs: number): Promise<LaneHold | undefined> {
    const { rows } = await this.pool.query<HoldRow>(
      `update public.lanes set holder = $2, epoch = epoch + 1, renewed_at = clock_timestamp(), generation = greatest(generation, $4)
       where lane = $1 and (holder is null or holder = $2
         or abs(extract(epoch from clock_timestamp() - renewed_at)) * 1000 >= $3::double precision)
       returning epoch, batch, generation`,
      [lane, holder, expireAfterMs, this.generationFloor],
    );
    return holdOf(rows);
  }

  /** The lane's first holder makes its row; of two that try, one finds it made. A new lane has the generation of the others: they share the topics. */
  private async found(lane: number, holder: string): Promise<LaneHold | undefined> {
    const { rows } = await this.pool.query<HoldRow>(
      `insert into public.lanes (lane, holder, epoch, batch, renewed_at, generation)
       select $1, $2, 1, 0, clock_timestamp(), greatest($3, (select max(generation) from public.lanes))
       where not exists (select from public.lanes where lane = $1)
       on conflict do nothing returning epoch, batch, generation`,
      [lane, holder, this.generationFloor],
    );
    return holdOf(rows);
  }
}

function holdOf(rows: readonly HoldRow[]): LaneHold | undefined {
  const [row] = rows;
  if (row === undefined) return undefined;
  return { epoch: BigInt(row.epoch), batch: BigInt(row.batch), generation: row.generation };
}
