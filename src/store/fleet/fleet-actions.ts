import { intoAuditTrail, type PersonsWord } from '../commands/read-audit-trail.ts';
import type { PoolDeps } from '../session/retry-transaction.ts';
import { storableColumn, writeOnce } from '../session/write-once.ts';
import { finisherSuffix } from './fleet-document.ts';

/**
 * Operators' wishes about the fleet. Every process sees them at its next look at the rows. Each
 * call is one statement. It rejects when the database can't be reached or its answer was lost. Then
 * it may be done, and doing it again does no harm.
 */
export interface FleetActions {
  /**
   * The process's weight counts as 0 from now on (`true`), or as it was again (`false`). It holds
   * as long as the process holds its lane; the next process begins without it. False: no live
   * process has this name.
   */
  drain(instance: string, drained: boolean, word: PersonsWord): Promise<boolean>;
  /**
   * The shard is not given for balance from now on (`true`), or is again (`false`). It holds until
   * it is unpinned, whichever process holds the shard. False: there is no such shard.
   */
  pin(shard: number, pinned: boolean, word: PersonsWord): Promise<boolean>;
}

/**
 * The port `FleetActions` in Postgres. `expireAfterMs`: a lane not renewed for so long has no live
 * process.
 */
export function postgresFleetActions(deps: PoolDeps, expireAfterMs: number): FleetActions {
  /** `change`: its values are the parameters from $5 on. */
  async function act(action: string, { by, reason, requestId }: PersonsWord, change: string, values: unknown[]) {
    const rows = await writeOnce(deps, {
      text: `with changed as (
          ${change}
        )
        ${intoAuditTrail}
        select clock_timestamp(), $1, $2, null, $3, $4, detail from changed returning id`,
      values: [storableColumn(by), action, requestId, storableColumn(reason), ...values],
    });
    return rows.length > 0;
  }

  return {
    async drain(instance, drained, word) {
      if (instance.endsWith(finisherSuffix)) return false;
      return act(
        drained ? 'fleet_drain' : 'fleet_undrain',
        word,
        `update public.lanes set drained = $5
          where holder = $6 and abs(extract(epoch from clock_timestamp() - renewed_at)) * 1000 < $7::double precision
          returning json_build_object('instance', holder, 'lane', lane) as detail`,
        [drained, instance, expireAfterMs],
      );
    },
    pin: (shard, pinned, word) =>
      act(
        pinned ? 'fleet_pin' : 'fleet_unpin',
        word,
        "update public.shards set pinned = $5 where shard = $6 returning json_build_object('shard', shard, 'lane', lane) as detail",
        [pinned, shard],
      ),
  };
}
