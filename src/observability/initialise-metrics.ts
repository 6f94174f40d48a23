import { collectDefaultMetrics } from 'prom-client';
import type { Metrics } from './metrics.ts';

const streams = ['account', 'prediction'] as const;
const causes = ['stream', 'snapshot', 'reply', 'probe'] as const;
const outcomes = ['applied', 'duplicate', 'stale', 'conflict', 'quarantined'] as const;
/** Equal to `takeoverCauses` in store/. This room may not import it; a test compares the two. */
export const laneTakeoverCauses = ['first', 'released', 'expired', 'own'] as const;
const stages = ['receive_to_commit', 'commit_to_ack', 'total'] as const;
const topics = ['updates', 'continuity', 'state', 'outcomes'] as const;
const sourceStates = [
  'live',
  'resyncing',
  'connecting',
  'down',
  'unanswered',
  'not_enrolled',
  'login_required',
  'frozen',
] as const;
/** Equal to `endReasons` in service/rest/. This room may not import it; a test compares the two. */
export const endReasons = ['peer', 'strangers', 'principal', 'full', 'requests'] as const;
/**
 * Equal to `absenceCauses` in service/sources/. This room may not import it; a test compares both.
 */
export const absenceCauses = ['store_lost', 'forgotten'] as const;
const frameTypes = ['event', 'control', 'unreadable', 'foreign'] as const;

/** Equal to `limitNames` in domain/. This room may not import it; a test compares the two. */
export const limitNames = [
  'maxQuantity',
  'maxNotional',
  'collarPercent',
  'maxQuoteAgeMs',
  'allowedSymbols',
  'forbiddenSymbols',
  'instruments',
  'maxOpenOrders',
  'maxSymbolExposure',
  'maxAccountExposure',
  'ordersPerMinute',
  'duplicateWindowMs',
] as const;
const commandKinds = ['place', 'replace', 'cancel'] as const;
const commandOutcomes = [
  'accepted',
  'refused',
  'not_sent',
  'unknown',
  'applied',
  'rejected',
  'moot',
  'conflict',
] as const;
const settledOutcomes: readonly string[] = ['applied', 'rejected', 'moot', 'refused', 'not_sent', 'conflict'];
const settlingEvidence = ['stream', 'snapshot', 'reply', 'probe', 'correction', 'log', 'answer', 'person'] as const;

/**
 * Equal to `EndReason` in service/sources/. This room may not import it; a test compares the two.
 */
export const reconnectReasons = [
  'unauthorized',
  'forbidden',
  'refused',
  'closed',
  'restarting',
  'slow_consumer',
  'connect',
  'timeout',
  'protocol',
  'binary',
  'bad_utf8',
  'oversize',
  'ping_flood',
  'slow_reader',
  'idle',
  'ack_timeout',
  'no_message',
  'replaced',
  'stopped',
  'store_lost',
] as const;
/** A producer is replaced after these codes of `PublishError` (service/log/publish-sends.ts). */
const replaceReasons = [
  'timeout',
  'connection',
  'not_leader',
  'missing_ack',
  'not_enough_replicas',
  'too_large',
  'unknown_topic',
  'wrong_partitions',
  'unauthorized',
  'storage',
  'fenced',
  'unavailable',
  'broker',
  'other',
] as const;

/**
 * Equal to `AuthFailure` and `ResetReason` in service/rest/. This room may not import them; a test
 * compares them.
 */
export const authFailureReasons = ['missing', 'malformed', 'unknown_token', 'expired', 'claims', 'signature'] as const;
export const streamResetReasons = ['slow_reader', 'too_old', 'unknown_id'] as const;

/**
 * Makes every series exist from the first scrape on. A counter that appears with its first fault
 * has no increase for that fault, and an alert on it stays silent. Timestamps begin at 0, which
 * means "not yet"; rules ask for more than 0. Called once, by a service: the simulator and short
 * commands do not need it.
 */
export function initialiseMetrics(metrics: Metrics, version: string): void {
  initialiseSource(metrics.source);
  initialiseIngest(metrics.ingest);
  initialiseRelay(metrics.relay);
  initialiseCommands(metrics.commands);
  initialisePlatform(metrics.platform);
  initialiseConnections(metrics.process);
  initialiseRest(metrics.rest);
  metrics.process.buildInfo.set({ version }, 1);
  // Each sample of the event loop's lag wakes the process. With prom-client's default, 10 ms, it
  // was about 100 of the 110 times a second an idle service woke (4 ms of processor a second; with
  // 50 it is 1).
  collectDefaultMetrics({ register: metrics.registry, eventLoopMonitoringPrecision: 50 });
}

function initialiseSource(source: Metrics['source']): void {
  for (const stream of streams) {
    for (const state of sourceStates) source.state.set({ source: stream, state }, 0);
    for (const type of frameTypes) source.frames.inc({ source: stream, type }, 0);
    for (const reason of reconnectReasons) source.reconnects.inc({ source: stream, reason }, 0);
    source.lastFrame.set({ source: stream }, 0);
    source.lastEvent.set({ source: stream }, 0);
    source.lastCompleteRead.set({ source: stream }, 0);
    source.gaps.inc({ source: stream }, 0);
    source.silentLosses.inc({ source: stream }, 0);
    source.pausedSeconds.inc({ source: stream }, 0);
    source.unfollowed.set({ source: stream }, 0);
    source.unrecovered.set({ source: stream }, 0);
    source.inDoubt.set({ source: stream }, 0);
    for (const cause of absenceCauses) source.absentOrders.set({ source: stream, cause }, 0);
    source.resyncSeconds.zero({ source: stream });
  }
}

function initialiseIngest(ingest: Metrics['ingest']): void {
  for (const stream of streams) {
    for (const cause of causes) {
      for (const outcome of outcomes) ingest.observations.inc({ stream, cause, outcome }, 0);
    }
    for (const stage of stages) ingest.latency.zero({ stream, stage });
  }
  for (const cause of laneTakeoverCauses) ingest.laneTakeovers.inc({ cause }, 0);
  for (const cause of ['released', 'expired']) ingest.laneTakeoverSeconds.zero({ cause });
  for (const kind of ['retry', 'discard'])
    for (const outcome of ['done', 'failed']) ingest.quarantineJobRows.inc({ kind, outcome }, 0);
  for (const move of ['taken', 'given', 'kept', 'lost']) ingest.shardMoves.inc({ move }, 0);
  for (const outcome of ['finished', 'failed']) ingest.laneFinishes.inc({ outcome }, 0);
  for (const by of ['postgres', 'kafka']) ingest.fenced.inc({ by }, 0);
}

function initialiseRelay(relay: Metrics['relay']): void {
  for (const topic of topics) {
    for (const outcome of ['acknowledged', 'failed']) relay.records.inc({ topic, outcome }, 0);
    relay.publishSeconds.zero({ topic });
  }
  for (const topic of ['updates', 'state', 'outcomes']) {
    relay.pending.set({ topic }, 0);
    relay.oldestPending.set({ topic }, 0);
  }
  for (const reason of ['start', 'failure', 'overflow', 'gap']) relay.resent.inc({ reason }, 0);
  for (const reason of replaceReasons) relay.producerReplaced.inc({ reason }, 0);
}

function initialiseCommands(commands: Metrics['commands']): void {
  for (const kind of commandKinds) {
    for (const outcome of commandOutcomes) {
      commands.commands.inc({ kind, outcome }, 0);
      if (settledOutcomes.includes(outcome))
        for (const evidence of settlingEvidence) commands.settlements.inc({ kind, outcome, evidence }, 0);
    }
    commands.seconds.zero({ kind });
    commands.unresolved.set({ kind }, 0);
    commands.lateLandings.inc({ kind }, 0);
  }
  commands.oldestUnresolved.set(0);
  for (const outcome of ['complete', 'failed', 'skipped']) commands.probes.inc({ outcome }, 0);
  for (const limit of [...limitNames, 'required']) commands.limited.inc({ limit }, 0);
  for (const result of ['new', 'replayed', 'reused']) commands.idempotency.inc({ result }, 0);
  for (const state of ['armed', 'overdue']) commands.cancelTimers.set({ state }, 0);
  for (const outcome of ['in_hand', 'open']) commands.cancelAfter.inc({ outcome }, 0);
  for (const scope of ['account', 'service']) commands.placingHalted.set({ scope }, 0);
}

function initialisePlatform(platform: Metrics['platform']): void {
  for (const outcome of ['ok', 'refused', 'failed']) platform.tokenRefresh.inc({ outcome }, 0);
  for (const state of ['held', 'waiting', 'login_required']) platform.credentials.set({ state }, 0);
}

function initialiseConnections({ connections, connectionsEnded }: Metrics['process']): void {
  for (const port of ['rest', 'admin']) {
    for (const kind of ['stranger', 'signed_in']) connections.set({ port, kind }, 0);
    for (const reason of endReasons) connectionsEnded.inc({ port, reason }, 0);
  }
}

function initialiseRest(rest: Metrics['rest']): void {
  for (const reason of authFailureReasons) rest.authFailures.inc({ reason }, 0);
  for (const outcome of ['ok', 'failed']) rest.issuerKeyReads.inc({ outcome }, 0);
  for (const reason of streamResetReasons) rest.streamResets.inc({ reason }, 0);
  for (const outcome of ['answered', 'unanswered', 'not_sent']) rest.forwards.inc({ outcome }, 0);
  rest.streamClients.set(0);
  for (const gauge of [rest.readRows, rest.readsWaiting, rest.heldBytes]) gauge.set(0);
  for (const counter of [rest.readsRefused, rest.slowReaders]) counter.inc(0);
}
