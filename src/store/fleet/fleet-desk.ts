import type { Pool } from 'pg';
import type { RetryDeps } from '../session/retry-transaction.ts';
import { storableColumn, writeOnce } from '../session/write-once.ts';
import { finisherSuffix } from './fleet-document.ts';

/** Who acts on the fleet, and why; written to the audit trail by the statement that acts. */
export interface FleetWord {
  readonly by: string;
  readonly reason: string;
  readonly requestId: string;
}

/**
 * The wishes of operators about the fleet. Every process sees them at its next look at the rows.
 * Each call is one statement; it rejects when the database can't be reached, or when its answer was
 * lost: then it may be done, and doing it again does no harm.
 */
export interface FleetDesk {
  /**
   * From now on the weight of the process counts as 0 (`true`), or as it was again
   * (`false`). It holds as long as the process holds its lane: the next process begins
   * without it. False: no live process has this name.
   */
  drain(instance: string, drained: boolean, word: FleetWord): Promise<boolean>;
  /**
   * From now on the shard is not given for balance (`true`), or is again (`false`). It holds until
   * it is unpinned, whatever process holds the shard. False: there is none of this number.
   */
  pin(shard: number, pinned: boolean, word: FleetWord): Promise<boolean>;
}

/**
 * The port `FleetDesk` in Postgres. `expireAfterMs`: a lane that was not
 * renewed for so long has no live process.
 */
export class PostgresFleetDesk implements FleetDesk {
  private readonly deps: RetryDeps & { readonly pool: Pool };
  private readonly options: { readonly expireAfterMs: number };

  constructor(deps: RetryDeps & { readonly pool: Pool }, options: { readonly expireAfterMs: number }) {
    this.deps = deps;
    this.options = options;
  }

  async drain(instance: string, drained: boolean, word: FleetWord): Promise<boolean> {
    if (instance.endsWith(finisherSuffix)) return false;
    return this.act(
      drained ? 'fleet_drain' : 'fleet_undrain',
      word,
      `update public.lanes set drained = $5
        where holder = $6 and abs(extract(epoch from clock_timestamp() - renewed_at)) * 1000 < $7::double precision
        returning json_build_object('instance', holder, 'lane', lane) as detail`,
      [drained, instance, this.options.expireAfterMs],
    );
  }

  pin(shard: number, pinned: boolean, word: FleetWord): Promise<boolean> {
    return this.act(
      pinned ? 'fleet_pin' : 'fleet_unpin',
      word,
      "update public.shards set pinned = $5 where shard = $6 returning json_build_object('shard', shard, 'lane', lane) as detail",
      [pinned, shard],
    );
  }

  /** `change`: its values are the parameters from $5 on. */
  private async act(
    action: string,
    { by, reason, requestId }: FleetWord,
    change: string,
    values: readonly unknown[],
  ): Promise<boolean> {
    const rows = await writeOnce(this.deps, {
      text: `with changed as (
          ${change}
        )
        insert into public.audit_log (at, principal, action, request_id, reason, detail)
        select clock_timestamp(), $1, $2, $3, $4, detail from changed returning id`,
      values: [storableColumn(by), action, requestId, storableColumn(reason), ...values],
    });
    return rows.length > 0;
  }
}
