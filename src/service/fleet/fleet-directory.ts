import type { Trouble } from '../../domain/judge-fitness.ts';
import { emptyReport } from '../../domain/member-report.ts';
import type { Fleet, LaneMember } from '../../store/fleet/shard-store.ts';
import type { HeldShards } from './held-shards.ts';
import type { OtherInstance, OtherInstances } from './other-instances.ts';
import type { Waiting } from './pipeline-reading.ts';

interface FleetStanding {
  readonly others: number;
  /** Shards with accounts and without a process; `oldestMs`: since when the first has had none. */
  readonly unassigned: Waiting;
  /** Whether any process follows an account; undefined: there was no look yet. */
  readonly anyFollows: boolean | undefined;
  /** Account streams that ought to be followed and are not, in all processes. */
  readonly unfollowed: number;
  /** Unusable logins, at the process with most. */
  readonly unusableLogins: number;
  /** Why this process has given its shards away: an operator drained it, or it is unhealthy. */
  readonly drained: boolean;
  readonly unhealthy: Trouble | undefined;
}

/** The fleet's other processes, as the last look at its rows showed them. */
export class FleetDirectory implements OtherInstances {
  private readonly deps: {
    readonly fleet: () => Fleet | undefined;
    readonly held: Pick<HeldShards, 'shardOf' | 'has'>;
    /** The name of this process in its lane's row. */
    readonly holder: string;
  };

  constructor(deps: FleetDirectory['deps']) {
    this.deps = deps;
  }

  holderOf(accountId: string): OtherInstance | undefined {
    const { fleet, held } = this.deps;
    const shard = held.shardOf(accountId);
    const assignment = fleet()?.assignments.find((each) => each.shard === shard);
    const member =
      assignment?.lane === undefined ? undefined : fleet()?.members.find(({ lane }) => lane === assignment.lane);
    return member && this.reached(member)[0];
  }

  all(): readonly OtherInstance[] {
    return this.deps.fleet()?.members.flatMap((member) => this.reached(member)) ?? [];
  }

  standing(nowMs: number): FleetStanding {
    const { members = [], assignments = [], orphans = [] } = this.deps.fleet() ?? {};
    const live = new Set(members.map(({ lane }) => lane));
    const ages = assignments.flatMap(({ shard, lane, sinceMs }) => {
      // Taken since the last look, and the next one waits until its work has begun.
      if (this.deps.held.has(shard)) return [];
      if (lane === undefined) return [sinceMs];
      return live.has(lane) ? [] : [orphans.find((orphan) => orphan.lane === lane)?.idleMs ?? 0];
    });
    const others = members.filter(({ holder }) => holder !== this.deps.holder).length;
    const mine = members.find(({ holder }) => holder === this.deps.holder);
    const since = ages.length === 0 ? {} : { oldestMs: nowMs - Math.max(...ages) };
    const unhealthy = mine?.unwell?.unhealthy === true ? mine.unwell.trouble : undefined;
    const reports = members.map(({ report = emptyReport }) => report);
    return {
      others,
      unassigned: { rows: ages.length, ...since },
      drained: mine?.drained === true,
      unhealthy,
      anyFollows: members.length === 0 ? undefined : reports.some(({ follows }) => follows),
      unfollowed: reports.reduce((sum, { unfollowed }) => sum + unfollowed, 0),
      unusableLogins: Math.max(0, ...reports.map(({ unusableLogins }) => unusableLogins)),
    };
  }

  private reached({ holder, address }: LaneMember): OtherInstance[] {
    return address === undefined || holder === this.deps.holder ? [] : [{ instance: holder, address }];
  }
}
