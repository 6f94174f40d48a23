import type { Pool } from 'pg';
import type { AcquireResult, LaneHold, LaneStore, Takeover } from '../ingest/lane-store.ts';

interface HoldRow {
  epoch: string;
  batch: string;
  generation: number;
}

interface TakenRow extends HoldRow {
  from_holder: string | null;
  idle_ms: string;
}

interface LaneRow {
  holder: string | null;
  epoch: string;
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
    const held = (await this.takeOver(lane, holder, expireAfterMs)) ?? (await this.found(lane, holder));
    if (held !== undefined) return { kind: 'held', ...held };
    const { rows } = await this.pool.query<LaneRow>(
      `select holder, epoch, extract(epoch from clock_timestamp() - renewed_at) * 1000 as age_ms from public.lanes where lane = $1`,
      [lane],
    );
    const [row] = rows;
    return {
      kind: 'busy',
      holder: row?.holder ?? '',
      epoch: BigInt(row?.epoch ?? 0),
      ageMs: Math.round(Number(row?.age_ms ?? 0)),
    };
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
    // The epoch rises as well: nothing that we may have left in a buffer somewhere can write after this. The time is that from which the lane is free.
    await this.pool.query(
      'update public.lanes set holder = null, epoch = epoch + 1, renewed_at = clock_timestamp() where lane = $1 and epoch = $2',
      [lane, epoch.toString()],
    );
  }

  /**
   * A row renewed in the future was written before the database's clock was set back: it says as little as an old one. The condition holds no lock where
   * it is false, so a standby that looks every second is no burden on the lane. The row is locked first, so that what is told of the holder before is what it was then.
   */
  private async takeOver(lane: number, holder: string, expireAfterMs: number): Promise<Taken | undefined> {
    const { rows } = await this.pool.query<TakenRow>(
      `update public.lanes l
       set holder = $2, epoch = l.epoch + 1, renewed_at = clock_timestamp(), generation = greatest(l.generation, $4)
       from (select lane, holder, extract(epoch from clock_timestamp() - renewed_at) * 1000 as idle_ms from public.lanes
         where lane = $1 and (holder is null or holder = $2
           or abs(extract(epoch from clock_timestamp() - renewed_at)) * 1000 >= $3::double precision)
         for no key update) as before
       where l.lane = before.lane
       returning l.epoch, l.batch, l.generation, before.holder as from_holder, before.idle_ms`,
      [lane, holder, expireAfterMs, this.generationFloor],
    );
    const hold = holdOf(rows);
    const [row] = rows;
    if (hold === undefined || row === undefined) return undefined;
    const cause = row.from_holder === null ? 'released' : row.from_holder === holder ? 'own' : 'expired';
    // Below zero where the database's clock was set back.
    const idleMs = Math.max(0, Math.round(Number(row.idle_ms)));
    return { ...hold, takeover: { cause, from: row.from_holder ?? undefined, idleMs } };
  }

  /** The lane's first holder makes its row; of two that try, one finds it made. A new lane has the generation of the others: they share the topics. */
  private async found(lane: number, holder: string): Promise<Taken | undefined> {
    const { rows } = await this.pool.query<HoldRow>(
      `insert into public.lanes (lane, holder, epoch, batch, renewed_at, generation)
       select $1, $2, 1, 0, clock_timestamp(), greatest($3, (select max(generation) from public.lanes))
       where not exists (select from public.lanes where lane = $1)
       on conflict do nothing returning epoch, batch, generation`,
      [lane, holder, this.generationFloor],
    );
    const hold = holdOf(rows);
    return hold && { ...hold, takeover: { cause: 'first', from: undefined, idleMs: 0 } };
  }
}

type Taken = LaneHold & { readonly takeover: Takeover };

function holdOf(rows: readonly HoldRow[]): LaneHold | undefined {
  const [row] = rows;
  if (row === undefined) return undefined;
  return { epoch: BigInt(row.epoch), batch: BigInt(row.batch), generation: row.generation };
}
