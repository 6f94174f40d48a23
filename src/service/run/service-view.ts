import { formatInstant } from '../../domain/instant.ts';
import type { Clock } from '../../runtime/clock.ts';
import { fleetDocument } from '../../store/fleet/fleet-document.ts';
import type { Fleet } from '../../store/fleet/shard-store.ts';
import type { ConsumerGroups } from '../log/consumer-groups.ts';
import type { ConsumersAnswer, ServiceView } from '../rest/service-view.ts';
import { historyDocument } from './history-document.ts';
import type { PipelineRing } from './pipeline-ring.ts';
import { type StatusParts, statusDocument } from './status-document.ts';

interface ServiceViewDeps {
  readonly commands: 'on' | 'off';
  readonly status: StatusParts;
  readonly ring: PipelineRing;
  readonly consumers: ConsumerGroups;
  readonly look: () => Promise<Fleet>;
  readonly clock: Clock;
}

/** The service as its operators see it over REST. */
export function serviceView({ commands, status, ring, consumers, look, clock }: ServiceViewDeps): ServiceView {
  return {
    commands,
    status: (scope) => statusDocument(status, scope),
    history: (sinceMs) =>
      historyDocument(ring.kept, { everyMs: ring.everyMs, ...(sinceMs !== undefined && { sinceMs }) }),
    consumers: () => consumersOf(consumers),
    fleet: async () => fleetDocument(await look(), clock.nowMs()),
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
