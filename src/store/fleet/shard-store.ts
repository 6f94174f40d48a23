import type { Pool } from 'pg';
import type { Trouble } from '../../domain/judge-fitness.ts';
import { emptyReport, type MemberReport } from '../../domain/member-report.ts';
import type { FleetMember, ShardAssignment } from '../../domain/plan-shards.ts';
import type { Changes, Marks } from './changes.ts';
import { nextEpoch } from './lane-store.ts';

/**
 * A shard at one epoch. The epoch rises with each taking, and fences the shard's commands in the
 * journal. It also fences acts on the shard: a statement that outlives its client must not free a
 * shard taken again since.
 */
export interface HeldShard {
  readonly shard: number;
  readonly epoch: bigint;
}

/**
 * A process's present trouble; if it is `unhealthy`, perhaps its last trouble. An unhealthy process
 * takes no shards.
 */
export interface Unwell {
  readonly trouble: Trouble;
  readonly unhealthy: boolean;
}

/** A process, as its lane's row shows it to the others. */
export interface LaneMember extends FleetMember {
  /** Names one run of one process. */
  readonly holder: string;
  /**
   * The address at which its REST answers other processes; undefined: it takes no forwarded
   * requests.
   */
  readonly address: string | undefined;
  /** Empty until it has introduced itself; its weight is 0 until then. */
  readonly version: string;
  /** It is about to end: its weight is given as 0. */
  readonly draining: boolean;
  /** An operator drained it (`FleetActions`): its weight is given as 0, and it stays. */
  readonly drained: boolean;
  /** Left out: it is well. An unhealthy one has the weight 0. */
  readonly unwell?: Unwell;
  /** Left out: it has not introduced itself, or its build does not report. */
  readonly report?: MemberReport;
}

/** A lane without a live process. It still holds shards, or has log rows Kafka may lack. */
export interface OrphanLane {
  readonly lane: number;
  /** How long ago it was last renewed, or given back, by the database's clock. */
  readonly idleMs: number;
}

export interface Fleet {
  /** Lowest lane first. */
  readonly members: readonly LaneMember[];
  /** Every shard, lowest first. */
  readonly assignments: readonly (ShardAssignment & { readonly epoch: bigint })[];
  readonly orphans: readonly OrphanLane[];
}

/** A process shows itself to the others with this. */
export type MemberIntroduction = Pick<LaneMember, 'weight' | 'address' | 'version' | 'draining' | 'unwell' | 'report'>;

/**
 * The shards, and their holders. Every write names the lane and the caller's epoch on it, and
 * changes nothing if that epoch is gone. Times are the database's. Calls reject only when the
 * database can't be reached. The caller then knows nothing and asks again.
 */
export interface ShardStore {
  /** `expireAfterMs`: a lane not renewed for so long has no live process. */
  look(expireAfterMs: number): Promise<Fleet>;
  /** Writes the introduction into the lane's row. False: the epoch is gone. */
  introduce(lane: number, epoch: bigint, introduction: MemberIntroduction): Promise<boolean>;
  /**
   * The shards the lane already holds, each under a new epoch: a term's first act. Undefined: the
   * lane's epoch is gone.
   */
  resume(lane: number, epoch: bigint): Promise<readonly HeldShard[] | undefined>;
  /**
   * Takes the free ones among the shards, and takes this lane's own once more, if they still have
   * the epoch they were seen with. Each gets a new epoch. Undefined: the lane's epoch is gone.
   */
  take(lane: number, epoch: bigint, seen: readonly HeldShard[]): Promise<readonly HeldShard[] | undefined>;
  /**
   * Frees the shard. It must have nothing unresolved or unpublished left. False: the lane's or the
   * shard's epoch is gone. If it rejects, it may still be done later, unless the shard is taken
   * first.
   */
  free(lane: number, epoch: bigint, held: HeldShard): Promise<boolean>;
  /**
   * A term's last act: frees all the lane's shards. The lane must have nothing unpublished left.
   * Undefined: the lane's epoch is gone.
   */
  freeAll(lane: number, epoch: bigint): Promise<readonly number[] | undefined>;
}

/**
 * The lane under the caller's epoch, as a common table expression. No row: the epoch is gone.
 *
 * Raising the epoch waits for this lock, and a batch does too. `for share` would suffice for that.
 * But two such locks at once would leave a group's number in the row's `xmax`, and the event stream
 * reads that as a transaction (read-stream.ts).
 */
const held =
  'held as materialized (select lane, holder from public.lanes where lane = $1 and epoch = $2 for no key update)';

const taking = `with ${held}, free as materialized (
    select s.shard from public.shards s join unnest($3::integer[], $4::bigint[]) as seen(shard, epoch) using (shard, epoch), held
    where s.lane is null or s.lane = held.lane order by s.shard for update of s skip locked
  ), taken as (
    update public.shards s set lane = held.lane, epoch = ${nextEpoch('s', 'held.holder')}, since = clock_timestamp() from free, held
    where s.shard = free.shard returning s.shard, s.epoch
  )
  select taken.shard, taken.epoch from held left join taken on true order by taken.shard`;

const resuming = `with ${held}, taken as (
    update public.shards s set epoch = ${nextEpoch('s', 'held.holder')}, since = clock_timestamp() from held where s.lane = held.lane returning s.shard, s.epoch
  )
  select taken.shard, taken.epoch from held left join taken on true order by taken.shard`;

const freeing = `with ${held}
  update public.shards s set lane = null, since = clock_timestamp() from held where s.lane = held.lane and s.shard = $3 and s.epoch = $4`;

const freeingAll = `with ${held}, freed as (
    update public.shards s set lane = null, since = clock_timestamp() from held where s.lane = held.lane returning s.shard
  )
  select freed.shard from held left join freed on true order by freed.shard`;

/** Shards are compared in parts of 2 ** 6, so a moving one brings only its part. */
const partBits = 6;

/**
 * Covers the whole row except the time, since the time never changes alone. The function hashes 64
 * bits of its second argument. It combines the first one's two halves before it hashes, so the
 * epoch's upper half is hashed by itself.
 */
const assignmentDigest =
  'bit_xor(hashint8extended(epoch, hashint8extended(epoch >> 32, (shard::bigint << 32) + coalesce(lane, -1) * 2 + pinned::integer)))';

/**
 * One look, with digests for the rows the caller knows: it gets only the differences. Beside it the
 * marks for `Changes`. Each change to a halt takes a number from the sequence, so a halt raised and
 * cleared between two looks shows as well. $2 is the
 * members' digest (null: it knows none), $3 those for the parts of the shards. The digests are made
 * anew from the rows at each look. So no write has to keep a version, and lost commits can't make
 * one forgotten.
 *
 * With 200 processes and 4,096 shards (docs/capacity.md) a digest over the shards takes 0.4 ms,
 * and the rows take 9.8 ms as objects, or 3.4 ms as one list for each column. Parts alone, without
 * the digest over all, take 0.4 ms more.
 */
const looking = {
  name: 'look_at_fleet',
  text: `with now as materialized (select clock_timestamp() as at), aged as materialized (
      select l.*, now.at, l.holder is not null and abs(date_part('epoch', now.at - l.renewed_at)) * 1000 < $1::double precision as live
      from public.lanes l, now
    ), digests as materialized (
      select (select ${assignmentDigest} from public.shards) as assignments, (
        select coalesce(bit_xor(hash_record_extended(row(lane, holder, address, weight, version, draining, drained, trouble, unhealthy, held_since, report), 0)), 0)
        from aged where live) as members
    )
    select date_part('epoch', now.at) * 1000 as now_ms, digests.members::text as digest,
    case when digests.members is distinct from $2::bigint then (
      select coalesce(json_agg(json_build_object('lane', lane, 'holder', holder, 'address', address, 'weight', weight, 'version', coalesce(version, ''), 'draining', draining,
        'drained', drained, 'trouble', trouble, 'unhealthy', unhealthy, 'report', report, 'heldSinceMs', date_part('epoch', held_since) * 1000) order by lane), '[]')
      from aged where live
    ) end as members,
    case when digests.assignments is distinct from (select bit_xor(digest) from unnest($3::bigint[]) as digest) then (
      select coalesce(json_agg(json_build_object('digest', digest::text, 'assignments', case when digest <> all ($3::bigint[]) then (
          select json_agg(json_build_object('shard', shard, 'lane', lane, 'pinned', pinned, 'epoch', epoch::text, 'changedMs', date_part('epoch', since) * 1000) order by shard)
          from public.shards where shard between part << ${partBits} and ((part + 1) << ${partBits}) - 1
        ) end) order by part), '[]')
      from (select shard >> ${partBits} as part, ${assignmentDigest} as digest from public.shards group by 1) as parts
    ) end as parts, (
      select json_agg(json_build_object('lane', l.lane, 'idleMs', greatest(0, round(date_part('epoch', at - renewed_at) * 1000))) order by l.lane) from aged l
      where not l.live and (l.lane in (select lane from public.shards)
        or l.lane in (select public.unpublished_lanes(array(select lane from aged where not live))))
    ) as orphans, json_build_object(
      'halts', (select last_value from public.event_numbers) || ' ' || (
        select coalesce(bit_xor(hashtextextended(halt_id, 0)), 0) from public.halts where cleared_at is null),
      'tokens', (select coalesce(bit_xor(hash_record_extended(row(principal, number, expires_at), 0)), 0)::text from public.principal_tokens),
      'logins', (select coalesce(bit_xor(hash_record_extended(row(credential, generation), 0)), 0)::text from public.credentials where sealed is not null),
      'repairs', case when not exists (select from public.repair_requests where answered_at is null)
        and not exists (select from public.dead_letter_jobs where ended_at is null) then 'none' end,
      'results', case when not exists (
           select from public.result_positions p join public.journal j on j.shard = p.shard and j.seq > p.seq and j.kind in ('opening', 'step')) then 'none' end) as marks
    from now, digests`,
};

/** Times are the database's wall time. */
interface MemberRow extends Omit<LaneMember, 'address' | 'unwell' | 'livedMs' | 'report'> {
  readonly address: string | null;
  readonly trouble: Trouble | null;
  readonly unhealthy: boolean;
  /** Empty until it has introduced itself. */
  readonly report: Partial<MemberReport>;
  readonly heldSinceMs: number;
}

interface AssignmentRow {
  readonly shard: number;
  readonly lane: number | null;
  readonly pinned: boolean;
  readonly epoch: string;
  readonly changedMs: number;
}

interface FleetRow {
  readonly now_ms: number;
  /** The members' digest. */
  readonly digest: string;
  /** Null here and below: unchanged. */
  readonly members: readonly MemberRow[] | null;
  readonly parts: readonly { readonly digest: string; readonly assignments: readonly AssignmentRow[] | null }[] | null;
  readonly orphans: readonly OrphanLane[] | null;
  readonly marks: Marks;
}

/** The rows a look brought, and those it found unchanged. */
interface KnownFleet {
  readonly digest?: string;
  readonly members: readonly MemberRow[];
  readonly parts: readonly { readonly digest: string; readonly assignments: readonly KnownAssignment[] }[];
}

type KnownAssignment = Omit<Fleet['assignments'][number], 'sinceMs'> & Pick<AssignmentRow, 'changedMs'>;

interface HeldRow {
  readonly shard: number | null;
  readonly epoch: string;
}

/** The port `ShardStore` in Postgres: every call is one statement. */
export class PostgresShardStore implements ShardStore {
  private readonly pool: Pool;
  private readonly changes: Changes | undefined;
  private known: KnownFleet = { members: [], parts: [] };

  /** `changes`: gets the marks of each look. */
  constructor({ pool, changes }: { readonly pool: Pool; readonly changes?: Changes }) {
    this.pool = pool;
    this.changes = changes;
  }

  async look(expireAfterMs: number): Promise<Fleet> {
    // Looks may overtake each other. Each one builds on the rows it named in its question.
    const { known } = this;
    const values = [expireAfterMs, known.digest ?? null, known.parts.map(({ digest }) => digest)];
    const { rows } = await this.pool.query<FleetRow>({ ...looking, values });
    const [row] = rows;
    if (row === undefined) throw new Error('a look at the fleet had no answer');
    this.known = knownAfter(known, row);
    this.changes?.saw(row.marks);
    return fleetOf(this.known, row);
  }

  async introduce(lane: number, epoch: bigint, introduction: MemberIntroduction): Promise<boolean> {
    const { address = null, weight, version, draining, unwell, report } = introduction;
    const { rowCount } = await this.pool.query(
      `update public.lanes set address = $3, weight = $4, version = $5, draining = $6, trouble = $7, unhealthy = $8, report = $9 where lane = $1 and epoch = $2`,
      [
        lane,
        epoch.toString(),
        address,
        weight,
        version,
        draining,
        unwell?.trouble ?? null,
        unwell?.unhealthy ?? false,
        JSON.stringify(report ?? {}),
      ],
    );
    return rowCount === 1;
  }

  async resume(lane: number, epoch: bigint): Promise<readonly HeldShard[] | undefined> {
    return this.takeBy(resuming, [lane, epoch.toString()]);
  }

  async take(lane: number, epoch: bigint, seen: readonly HeldShard[]): Promise<readonly HeldShard[] | undefined> {
    const epochs = seen.map((each) => each.epoch.toString());
    return this.takeBy(taking, [lane, epoch.toString(), seen.map(({ shard }) => shard), epochs]);
  }

  async free(lane: number, epoch: bigint, held: HeldShard): Promise<boolean> {
    const { rowCount } = await this.pool.query(freeing, [lane, epoch.toString(), held.shard, held.epoch.toString()]);
    return rowCount === 1;
  }

  async freeAll(lane: number, epoch: bigint): Promise<readonly number[] | undefined> {
    const { rows } = await this.pool.query<{ readonly shard: number | null }>(freeingAll, [lane, epoch.toString()]);
    return rows.length === 0 ? undefined : rows.flatMap(({ shard }) => shard ?? []);
  }

  private async takeBy(text: string, values: readonly unknown[]): Promise<readonly HeldShard[] | undefined> {
    const { rows } = await this.pool.query<HeldRow>(text, [...values]);
    if (rows.length === 0) return undefined;
    return rows.flatMap(({ shard, epoch }) => (shard === null ? [] : [{ shard, epoch: BigInt(epoch) }]));
  }
}

function knownAfter(known: KnownFleet, { digest, members, parts }: FleetRow): KnownFleet {
  const assignmentsOf = (part: string) => known.parts.find((each) => each.digest === part)?.assignments ?? [];
  return {
    digest,
    members: members ?? known.members,
    parts:
      parts?.map((part) => ({
        ...part,
        assignments: part.assignments?.map(assignmentOf) ?? assignmentsOf(part.digest),
      })) ?? known.parts,
  };
}

function assignmentOf({ lane, epoch, ...assignment }: AssignmentRow): KnownAssignment {
  return { ...assignment, lane: lane ?? undefined, epoch: BigInt(epoch) };
}

function fleetOf({ members, parts }: KnownFleet, { now_ms: nowMs, orphans }: FleetRow): Fleet {
  const since = (atMs: number) => Math.max(0, Math.round(nowMs - atMs));
  return {
    members: members.map((member) => memberOf(member, since)),
    assignments: parts.flatMap(({ assignments }) =>
      assignments.map(({ changedMs, ...assignment }) => ({ ...assignment, sinceMs: since(changedMs) })),
    ),
    orphans: orphans ?? [],
  };
}

function memberOf(
  { address, weight, trouble, unhealthy, heldSinceMs, report, ...member }: MemberRow,
  since: (atMs: number) => number,
): LaneMember {
  const mayTake = !member.draining && !member.drained;
  return {
    ...member,
    livedMs: since(heldSinceMs),
    address: address ?? undefined,
    ...('works' in report && { report: { ...emptyReport, ...report } }),
    weight: mayTake && !unhealthy ? weight : 0,
    ...(mayTake && unhealthy && { spareWeight: weight }),
    ...(trouble !== null && { unwell: { trouble, unhealthy } }),
  };
}
