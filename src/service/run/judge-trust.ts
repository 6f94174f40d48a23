import { conditions, type DoubtName } from '../../contract/conditions.ts';
import type { Trust } from '../../contract/status-answer.ts';
import { formatInstant } from '../../domain/instant.ts';
import { plural } from '../../runtime/plural.ts';
import type { RecentEvents } from '../../runtime/recent-count.ts';
import type { FleetDirectory } from '../fleet/fleet-directory.ts';
import type { LaneView } from '../fleet/lane-record.ts';
import type { Waiting } from '../fleet/pipeline-reading.ts';
import type { Unfollowed } from '../sources/accounts-follower.ts';
import type { AccountStatus } from '../sources/source-status.ts';
import type { ClockDoubt } from './clock-watch.ts';
import type { TopicDoubts } from './topics-check.ts';

/**
 * The facts a caller may see, about its own accounts where they belong to accounts. Times are wall
 * time in milliseconds.
 */
export interface TrustFacts {
  readonly nowMs: number;
  readonly lane: { readonly held: boolean; readonly mayAct: boolean } & Pick<LaneView, 'holder' | 'sinceMs'>;
  /** `unfollowed`, here and below: as far as the caller may know. */
  readonly fleet: Omit<ReturnType<FleetDirectory['standing']>, 'drained' | 'unhealthy'>;
  /** Streams this process ought to follow and does not. */
  readonly unfollowed: readonly Omit<Unfollowed, 'fromMs'>[];
  readonly accounts: readonly (Pick<AccountStatus, 'accountId' | 'state' | 'sinceMs' | 'outOfReach'> &
    Pick<Unfollowed, 'stream'>)[];
  /** Streams whose accounts are not known: no list has come, and the database has none. */
  readonly unlisted: readonly string[];
  readonly heartbeatMs: number | undefined;
  readonly notStored: Waiting;
  /** By topic. */
  readonly unsent: readonly Waiting[];
  /** Topic settings that may lose or refuse records. Left out: none. */
  readonly topics?: TopicDoubts | undefined;
  /** Topics other than the ones we published to. Left out: none. */
  readonly replaced?: TopicDoubts | undefined;
  /** Clocks further apart than they may be. Left out: none. */
  readonly clocks?: ClockDoubt | undefined;
  readonly unresolved: Waiting;
  readonly halts: readonly { readonly cause: string; readonly sinceMs: number }[];
  readonly silentLosses: RecentEvents;
  readonly deadLetters: Waiting;
}

interface Doubt {
  readonly name: DoubtName;
  readonly detail: string;
  readonly sinceMs?: number | undefined;
  /** Its page, if that is not the one under its name. */
  readonly runbook?: string;
}

/**
 * Whether the data can be trusted, and otherwise why not, the gravest first. A fact unknown to this
 * process is a doubt: a process on standby never says that all is well.
 */
export function judgeTrust(facts: TrustFacts): Trust {
  const doubts = [
    doubtOfLane(facts),
    doubtOfShards(facts),
    ...doubtsOfUnfollowed(facts),
    doubtOfHeartbeat(facts),
    ...(facts.lane.held ? doubtsOfTerm(facts) : []),
    doubtOfTopics('topics_replaced', facts.replaced),
    doubtOfTopics('topics_differ', facts.topics),
    facts.clocks && { name: 'clock_skewed' as const, ...facts.clocks },
    ...doubtsOfCounts(facts),
  ].filter((doubt) => doubt !== undefined);
  return {
    trusted: doubts.length === 0,
    doubts: doubts.map(({ name, detail, sinceMs, runbook = conditions[name].runbook }) => ({
      name,
      detail,
      since: sinceMs === undefined ? null : formatInstant(sinceMs),
      runbook,
      link: conditions[name].link,
    })),
  };
}

function doubtOfLane({ lane: { held, mayAct, holder, sinceMs } }: TrustFacts): Doubt | undefined {
  if (held && mayAct) return undefined;
  if (held)
    return { name: 'no_holder', detail: 'this process holds the lane, but its last renewal is too old to act on' };
  if (holder === undefined) return { name: 'no_holder', detail: 'no process is known to hold the lane' };
  const detail = `this process stands by for ${holder}, which alone knows the streams and the unresolved commands: ask it`;
  return { name: 'standby', detail, sinceMs };
}

function doubtOfShards({ nowMs, fleet: { unassigned } }: TrustFacts): Doubt | undefined {
  if (unassigned.oldestMs === undefined || !lasts('shards_unassigned', nowMs - unassigned.oldestMs)) return undefined;
  const detail = `${plural(unassigned.rows, 'shard')} of accounts without a process: their accounts are not followed`;
  return { name: 'shards_unassigned', detail, sinceMs: unassigned.oldestMs };
}

/**
 * Known to the lane's holder alone: a process on standby has no accounts, and its gauges may come
 * from its last term.
 */
function doubtsOfTerm(facts: TrustFacts): (Doubt | undefined)[] {
  return [
    doubtOfAccounts(facts),
    doubtOfStoring(facts),
    doubtOfRows('rows_unsent', 'committed row', 'for Kafka', facts.nowMs, facts.unsent),
    doubtOfReach(facts),
  ];
}

/** Undefined: each is live, or has no orders to follow. */
export function doubtOfStates(
  accounts: readonly Pick<TrustFacts['accounts'][number], 'stream' | 'accountId' | 'state' | 'sinceMs'>[],
): Doubt | undefined {
  const notLive = accounts.filter(({ state }) => state !== 'live' && state !== 'not_enrolled');
  const [first] = notLive;
  if (first === undefined) return undefined;
  return {
    name: 'account_not_live',
    detail: `${notLive.length} of ${plural(accounts.length, 'account stream')} not live; ${first.stream} ${first.accountId} is ${first.state}`,
    sinceMs: Math.min(...notLive.map(({ sinceMs }) => sinceMs)),
  };
}

function doubtOfAccounts({ accounts, unlisted, fleet }: TrustFacts): Doubt | undefined {
  if (accounts.length === 0) {
    // If others follow accounts, a process without any is well: its shards may be empty, or on
    // their way to another process.
    if (fleet.others > 0 && fleet.anyFollows !== false) return undefined;
    const detail = fleet.others > 0 ? 'no process follows any account' : 'no account is followed yet';
    return { name: 'account_not_live', detail };
  }
  const doubt = doubtOfStates(accounts);
  if (doubt !== undefined || unlisted.length === 0) return doubt;
  return { name: 'account_not_live', detail: `no list of the accounts on ${unlisted.join(' and ')} has come yet` };
}

function doubtOfReach({ accounts }: TrustFacts): Doubt | undefined {
  const found = accounts.flatMap((account) =>
    account.outOfReach?.orders ? [{ ...account, ...account.outOfReach }] : [],
  );
  const [first] = found;
  if (first === undefined) return undefined;
  const orders = found.reduce((sum, each) => sum + each.orders, 0);
  const since = found.flatMap(({ outOfReach }) => outOfReach?.sinceMs ?? []);
  return {
    name: 'orders_out_of_reach',
    detail: `${plural(orders, 'open order')} can be cancelled only at the platform, by no command and no cancel-all; ${first.stream} ${first.accountId}: ${first.orderIds.map((id) => JSON.stringify(id)).join(', ')}`,
    ...(since.length > 0 && { sinceMs: Math.min(...since) }),
  };
}

/**
 * Every process names them, by the reports in the lanes' rows. The process that ought to follow
 * them also names the first and the reason.
 */
function doubtsOfUnfollowed({ unfollowed, fleet }: TrustFacts): Doubt[] {
  const name = 'accounts_unfollowed';
  const doubts: Doubt[] = [];
  const [first] = unfollowed;
  const count = Math.max(unfollowed.length, fleet.unfollowed);
  const which = first === undefined ? '' : `; ${first.stream} ${first.accountId}: ${first.why}`;
  if (count > 0)
    doubts.push({
      name,
      sinceMs: first?.sinceMs,
      detail: `${plural(count, 'account stream')} followed by no process or listed by no login, though they ought to be${which}`,
    });
  if (fleet.unusableLogins > 0)
    doubts.push({
      name: 'login_required',
      detail: `${plural(fleet.unusableLogins, 'login')} can't be used: a person has to sign in, or a process lacks the key`,
    });
  return doubts;
}

function doubtOfHeartbeat({ nowMs, heartbeatMs, fleet }: TrustFacts): Doubt | undefined {
  if (heartbeatMs !== undefined && !lasts('canary_late', nowMs - heartbeatMs)) return undefined;
  const detail =
    heartbeatMs === undefined
      ? 'no heartbeat has come back from Kafka yet; after a start the first takes some 20 s'
      : `the last heartbeat came back from Kafka ${Math.round((nowMs - heartbeatMs) / 1000)} s ago`;
  const doubt = { name: 'canary_late', detail, sinceMs: heartbeatMs } as const;
  // Heartbeats are written for followed accounts: without any, Kafka is not the place to look.
  if (fleet.anyFollows !== false) return doubt;
  return { ...doubt, detail: `${detail}; no account is followed`, runbook: 'SourceNeverLive' };
}

/** Batches may fail to commit although the database answers and the lane is renewed. */
export function doubtOfStoring({ nowMs, notStored }: Pick<TrustFacts, 'nowMs' | 'notStored'>): Doubt | undefined {
  return doubtOfRows('rows_not_stored', 'observation', 'to be stored', nowMs, [notStored]);
}

function doubtOfRows(
  name: DoubtName,
  what: string,
  goal: string,
  nowMs: number,
  all: readonly Waiting[],
): Doubt | undefined {
  const oldestMs = Math.min(...all.map((waiting) => waiting.oldestMs ?? Number.POSITIVE_INFINITY));
  if (!lasts(name, nowMs - oldestMs)) return undefined;
  const rows = all.reduce((sum, waiting) => sum + waiting.rows, 0);
  const seconds = Math.round((nowMs - oldestMs) / 1000);
  const why = all.find((waiting) => waiting.why !== undefined)?.why;
  const detail = `the oldest of ${plural(rows, what)} has waited ${seconds} s ${goal}${why === undefined ? '' : `: ${why}`}`;
  return { name, detail, sinceMs: oldestMs };
}

function doubtOfTopics(name: 'topics_replaced' | 'topics_differ', topics: TopicDoubts | undefined): Doubt | undefined {
  if (topics === undefined || topics.details.length === 0) return undefined;
  return { name, detail: topics.details.join('; '), sinceMs: topics.sinceMs };
}

function doubtsOfCounts({ unresolved, halts, silentLosses, deadLetters }: TrustFacts): Doubt[] {
  const doubts: Doubt[] = [];
  if (unresolved.rows > 0) {
    const detail = `${plural(unresolved.rows, 'command')} with a result that is not known`;
    doubts.push({ name: 'commands_unresolved', detail, sinceMs: unresolved.oldestMs });
  }
  if (halts.length > 0) {
    const causes = [...new Set(halts.map(({ cause }) => cause))].join(', ');
    const sinceMs = Math.min(...halts.map((halt) => halt.sinceMs));
    const detail = `placing is halted by ${plural(halts.length, 'halt')} (${causes})`;
    // The loss's page lists the work to do before a resume.
    const lost = halts.some(({ cause }) => cause === 'commits_lost');
    doubts.push({ name: 'halted', detail, sinceMs, ...(lost && { runbook: 'CommitsLost' }) });
  }
  if (silentLosses.events > 0) {
    const found =
      silentLosses.events === 1
        ? 'an audit found it, and the state has it'
        : 'audits found them, and the state has them';
    const detail = `the stream lost ${plural(silentLosses.events, 'change')} in the last hour; ${found}`;
    doubts.push({ name: 'silent_losses', detail, sinceMs: silentLosses.firstMs });
  }
  if (deadLetters.rows > 0) {
    const detail = `${plural(deadLetters.rows, 'dead letter')} for a person to look at`;
    doubts.push({ name: 'dead_letters', detail, sinceMs: deadLetters.oldestMs });
  }
  return doubts;
}

function lasts(name: DoubtName, ms: number): boolean {
  return ms > (conditions[name].afterMs ?? 0);
}
