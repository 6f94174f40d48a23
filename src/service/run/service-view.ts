import { formatInstant } from '../../domain/instant.ts';
import type { Stream } from '../../domain/order.ts';
import type { Clock } from '../../runtime/clock.ts';
import { fleetDocument } from '../../store/fleet/fleet-document.ts';
import type { Fleet } from '../../store/fleet/shard-store.ts';
import type { AccountScope } from '../../store/orders/order-reads.ts';
import type { ConsumerGroups } from '../log/consumer-groups.ts';
import type { ConsumersAnswer, ServiceView } from '../rest/service-view.ts';
import { historyDocument } from './history-document.ts';
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
    history: (sinceMs) =>
      historyDocument(ring.kept, { everyMs: ring.everyMs, ...(sinceMs !== undefined && { sinceMs }) }),
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
