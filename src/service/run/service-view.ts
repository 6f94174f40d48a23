import type { HistoryDocument, HistorySample } from '../../contract/pipeline-answers.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { Stream } from '../../domain/order.ts';
import type { Clock } from '../../runtime/clock.ts';
import { fleetDocument } from '../../store/fleet/fleet-document.ts';
import type { Fleet } from '../../store/fleet/shard-store.ts';
import type { AccountScope } from '../../store/orders/order-reads.ts';
import { type PipelineReading, ratesBetween, type Waiting } from '../fleet/pipeline-reading.ts';
import type { ConsumerGroups } from '../log/consumer-groups.ts';
import type { ConsumersAnswer, ServiceView } from '../rest/service-view.ts';
import type { PipelineRing } from './pipeline-ring.ts';
import { type StatusParts, statusDocument } from './status-document.ts';

interface ServiceViewDeps {
  readonly commands: 'on' | 'off';
  readonly streams: () => readonly Stream[];
  readonly status: StatusParts;
  readonly ring: PipelineRing;
  readonly consumers: ConsumerGroups;
  readonly look: () => Promise<Fleet>;
  readonly clock: Clock;
}

/** The service as its operators see it over REST. */
export function serviceView({ commands, streams, status, ring, consumers, look, clock }: ServiceViewDeps): ServiceView {
  return {
    commands,
    get streams() {
      return streams();
    },
    status: shared(clock, (scope) => statusDocument(status, scope)),
    history: (sinceMs) => historyDocument(ring.kept, { everyMs: ring.everyMs, sinceMs }),
    consumers: () => consumersOf(consumers),
    fleet: async () => fleetDocument(await look(), clock.nowMs()),
  };
}

/** Consoles ask every second or two; with so many rights at once the oldest document goes. */
const [keptMs, mostKept] = [500, 100];

/**
 * Makes a document once for all readers with the same rights, for a short time: with thousands of
 * accounts it takes milliseconds, and every open console asks every process of the fleet.
 */
export function shared<T>(
  clock: Pick<Clock, 'monotonicMs'>,
  make: (scope: AccountScope) => Promise<T>,
): (scope: AccountScope) => Promise<T> {
  const kept = new Map<string, { readonly untilMs: number; readonly made: Promise<T> }>();
  return (scope) => {
    const rights = scope.kind === 'all' ? 'all' : JSON.stringify([...scope.accountIds].sort());
    const nowMs = clock.monotonicMs();
    const found = kept.get(rights);
    if (found !== undefined && nowMs < found.untilMs) return found.made;
    const made = make(scope);
    // Set anew: the map keeps the order of their age.
    kept.delete(rights);
    kept.set(rights, { untilMs: nowMs + keptMs, made });
    for (const [each, { untilMs }] of kept) if (untilMs <= nowMs || kept.size > mostKept) kept.delete(each);
    made.catch(() => kept.delete(rights));
    return made;
  };
}

async function consumersOf(consumers: ConsumerGroups): Promise<ConsumersAnswer> {
  const result = await consumers.read();
  if (result.kind === 'unavailable') return result;
  const { groups, unread, notAsked } = result.lag;
  const items = groups.map(({ groupId, topics }) => ({
    groupId,
    topics: topics.map(({ lag, ...topic }) => ({ ...topic, lag: lag.toString() })),
  }));
  return { kind: 'read', consumers: { at: formatInstant(result.atMs), items, unread: [...unread], notAsked } };
}

/**
 * `readings`: oldest first. Each sample has the rates since the reading before it, so the first
 * reading has none. `sinceMs`: only newer ones.
 */
export function historyDocument(
  readings: readonly PipelineReading[],
  { everyMs, sinceMs = 0 }: { readonly everyMs: number; readonly sinceMs?: number | undefined },
): HistoryDocument {
  const samples: HistorySample[] = [];
  for (const [index, reading] of readings.entries()) {
    const before = readings[index - 1];
    if (before !== undefined && reading.atMs > sinceMs) samples.push(sampleOf(before, reading));
  }
  return { everyMs, samples };
}

function sampleOf(before: PipelineReading, reading: PipelineReading): HistorySample {
  const { atMs, ingest, updatesTopic, stateTopic, resultsTopic, heartbeatMs } = reading;
  const age = ({ oldestMs }: Waiting) => (oldestMs === undefined ? 0 : Math.max(0, Math.round(atMs - oldestMs)));
  return {
    at: formatInstant(atMs),
    ...ratesBetween(before, reading),
    ingestQueued: ingest.rows,
    ingestAgeMs: age(ingest),
    relayRows: updatesTopic.rows,
    relayAgeMs: age(updatesTopic),
    stateRows: stateTopic.rows,
    stateAgeMs: age(stateTopic),
    resultRows: resultsTopic.rows,
    resultAgeMs: age(resultsTopic),
    heartbeatAgeMs: heartbeatMs === undefined ? null : Math.max(0, Math.round(atMs - heartbeatMs)),
  };
}
