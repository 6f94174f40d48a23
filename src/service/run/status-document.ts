import type { StatusDocument } from '../../contract/status-answer.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { DeadLetterCount } from '../../store/dead-letters/dead-letters.ts';
import type { AccountScope } from '../../store/orders/order-reads.ts';
import type { CommandService } from '../commands/command-service.ts';
import type { FleetDirectory } from '../fleet/fleet-directory.ts';
import type { LaneKeeper } from '../fleet/lane-keeper.ts';
import type { PipelineRates, PipelineReading, Waiting } from '../fleet/pipeline-reading.ts';
import type { Relay } from '../log/relay.ts';
import type { Ingest } from '../orders/ingest.ts';
import { maySee } from '../rest/auth/principal.ts';
import type { VenueSources } from '../sources/venue-sources.ts';
import type { ClockWatch } from './clock-watch.ts';
import type { Credentials } from './credentials.ts';
import { judgeTrust } from './judge-trust.ts';
import type { ReplacedTopics } from './replaced-topics.ts';
import { absentRows, accountRows, credentialRows, iso, seenSources, silentLossesOf, sourceRow } from './source-rows.ts';
import type { TopicsCheck } from './topics-check.ts';

export interface StatusParts {
  readonly clock: Clock;
  readonly version: string;
  /** Names this process in the lane's row. */
  readonly instance: string;
  /**
   * How often Kafka has refused a transaction of ours because a later holder had taken the state
   * topic over.
   */
  readonly fencedByKafka: () => number;
  readonly keeper: Pick<LaneKeeper, 'state' | 'view'>;
  readonly lease: Pick<Lease, 'lane' | 'mayAct'>;
  readonly ingest: Pick<Ingest, 'depth' | 'full'>;
  readonly relay: Pick<Relay, 'status'>;
  readonly fleet: () => ReturnType<FleetDirectory['standing']>;
  readonly sources: Pick<VenueSources, 'status' | 'unfollowed' | 'unlisted'>;
  readonly credentials: Pick<Credentials, 'status'>;
  readonly commands: Pick<CommandService, 'status'> & { readonly operator: Pick<CommandService['operator'], 'halts'> };
  /** Undefined: not counted yet. */
  readonly deadLetters: () => readonly DeadLetterCount[] | undefined;
  /** Left out, here and below: a part made without Kafka, or without a platform. */
  readonly topics?: Pick<TopicsCheck, 'doubts'>;
  readonly replaced?: Pick<ReplacedTopics, 'doubts'>;
  readonly clocks?: Pick<ClockWatch, 'doubt'>;
  readonly readPipeline: () => Promise<PipelineReading>;
  readonly ratesUpTo: (reading: PipelineReading) => PipelineRates;
}

/**
 * The service's state as a caller with this scope may see it: instants as ISO 8601, nothing secret,
 * nothing that needs a query. Accounts, and everything counted by account, are those in the scope
 * alone. The lane, rates and queues belong to the service as a whole, and name no account.
 */
export async function statusDocument(parts: StatusParts, scope: AccountScope): Promise<StatusDocument> {
  const { clock, version, ingest, relay, sources, commands, keeper, lease } = parts;
  const reading = await parts.readPipeline();
  const { updatesPerSecond, ...latency } = parts.ratesUpTo(reading);
  const seen = seenSources(sources, scope);
  const deadLetters = parts.deadLetters()?.filter((row) => seesRow(scope, row));
  const halts = commands.operator.halts
    .list()
    .filter(({ scope: of }) => of.kind === 'service' || maySee(scope, of.accountId));
  const silentLosses = silentLossesOf(seen);
  const nowMs = clock.nowMs();
  return {
    version,
    at: formatInstant(nowMs),
    trust: judgeTrust({
      nowMs,
      lane: { held: keeper.state === 'held', mayAct: lease.mayAct(), ...keeper.view },
      fleet: seenFleet(parts.fleet(), scope),
      unfollowed: sources.unfollowed.filter(({ accountId }) => maySee(scope, accountId)),
      accounts: seen.flatMap(({ stream, accounts }) => accounts.map((account) => ({ stream, ...account }))),
      unlisted: sources.unlisted,
      heartbeatMs: reading.heartbeatMs,
      notStored: reading.ingest,
      unsent: [reading.updatesTopic, reading.stateTopic, reading.resultsTopic],
      topics: parts.topics?.doubts,
      replaced: parts.replaced?.doubts,
      clocks: parts.clocks?.doubt(),
      unresolved: unresolvedOf(commands, scope),
      halts,
      silentLosses,
      deadLetters: waitingOf(deadLetters ?? []),
    }),
    latency,
    updatesPerSecond,
    newestHeartbeat: iso(reading.heartbeatMs),
    silentLossesLastHour: silentLosses.events,
    deadLetters: deadLetters === undefined ? null : deadLetterRows(deadLetters),
    lag: lagOf(reading),
    lane: laneRow(parts),
    ingest: { queued: ingest.depth, paused: ingest.full },
    relay: relay.status(),
    commands: commandRow(commands, scope),
    halts: halts.map(({ scope: of, cause, reason, by, sinceMs }) => ({
      scope: of.kind === 'service' ? 'service' : of.accountId,
      cause,
      since: formatInstant(sinceMs),
      by,
      reason,
    })),
    credentials: credentialRows(parts.credentials, seen, scope),
    sources: seen.map(sourceRow),
    accounts: seen.flatMap(accountRows),
    absentOrders: seen.flatMap(absentRows),
  };
}

/** A caller of some accounts must not learn how many the others have. */
function seenFleet<F extends ReturnType<FleetDirectory['standing']>>(fleet: F, scope: AccountScope): F {
  return scope.kind === 'all' ? fleet : { ...fleet, unfollowed: 0, unusableLogins: 0 };
}

/** A row that does not show its account may belong to any. */
function seesRow(scope: AccountScope, { accountId }: DeadLetterCount): boolean {
  return accountId === null ? scope.kind === 'all' : maySee(scope, accountId);
}

function waitingOf(counts: readonly DeadLetterCount[]): Waiting {
  const oldestMs = Math.min(...counts.map(({ oldest }) => oldest.getTime()));
  return { rows: counts.reduce((sum, { rows }) => sum + rows, 0), ...(Number.isFinite(oldestMs) && { oldestMs }) };
}

function deadLetterRows(counts: readonly DeadLetterCount[]): { stream: string; reason: string; rows: number }[] {
  const byReason = new Map<string, { stream: string; reason: string; rows: number }>();
  for (const { stream, reason, rows } of counts) {
    const key = `${stream} ${reason}`;
    byReason.set(key, { stream, reason, rows: rows + (byReason.get(key)?.rows ?? 0) });
  }
  return [...byReason.values()];
}

function lagOf({ ingest, updatesTopic, stateTopic, resultsTopic }: PipelineReading): StatusDocument['lag'] {
  return {
    ingestQueued: ingest.rows,
    pendingOldest: iso(ingest.oldestMs),
    relayRows: updatesTopic.rows,
    relayOldest: iso(updatesTopic.oldestMs),
    stateRows: stateTopic.rows,
    resultRows: resultsTopic.rows,
  };
}

/**
 * `instance` is this process, `holder` the process that holds the lane, this one or another;
 * `takeover` shows how this one last came to hold it.
 */
function laneRow({ instance, keeper, lease, fleet, fencedByKafka }: StatusParts): StatusDocument['lane'] {
  const { drained, unhealthy = null } = fleet();
  const { holder, epoch, sinceMs, takeover, takeovers, fenced } = keeper.view;
  return {
    lane: lease.lane,
    instance,
    role: keeper.state === 'held' ? 'holder' : 'standby',
    state: keeper.state,
    mayAct: lease.mayAct(),
    drained,
    unhealthy,
    holder: holder ?? null,
    epoch: epoch.toString(),
    since: iso(sinceMs),
    takeovers,
    takeover:
      takeover === undefined
        ? null
        : {
            cause: takeover.cause,
            from: takeover.from ?? null,
            idleMs: takeover.idleMs,
            at: formatInstant(takeover.atMs),
            epoch: takeover.epoch.toString(),
          },
    fenced: { postgres: fenced, kafka: fencedByKafka() },
  };
}

/** Only the lane's holder knows the unresolved commands. */
function commandRow(commands: StatusParts['commands'], scope: AccountScope): StatusDocument['commands'] {
  const { enabled, leading, unresolved, oldestUnresolvedMs } = commands.status(scope);
  return {
    commands: enabled ? 'on' : 'off',
    unresolved: leading ? unresolved : null,
    oldestUnresolved: iso(oldestUnresolvedMs),
  };
}

function unresolvedOf(commands: StatusParts['commands'], scope: AccountScope): Waiting {
  const { unresolved, oldestUnresolvedMs } = commands.status(scope);
  return { rows: unresolved, ...(oldestUnresolvedMs !== undefined && { oldestMs: oldestUnresolvedMs }) };
}
