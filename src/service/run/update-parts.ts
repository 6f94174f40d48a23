import type { Tracing } from '../../observability/tracing.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { CommandService } from '../commands/command-service.ts';
import { HeldShards } from '../fleet/held-shards.ts';
import type { LaneKeeper } from '../fleet/lane-keeper.ts';
import { LossCheck } from '../fleet/loss-check.ts';
import { Relay } from '../log/relay.ts';
import { relayDefaults } from '../log/relay-options.ts';
import { StateWriter, stateWriterDefaults } from '../log/state-writer.ts';
import { UpdateTraces } from '../log/update-traces.ts';
import { WitnessWriter } from '../log/witness-writer.ts';
import { Ingest } from '../orders/ingest.ts';
import type { RestServer } from '../rest/rest-server.ts';
import { credentialSources } from './credential-parts.ts';
import type { KafkaParts } from './kafka-parts.ts';
import type { PlatformConfig, PlatformParts } from './platform-parts.ts';
import type { SharedParts } from './shared-parts.ts';
import type { StoreParts } from './store-parts.ts';

interface UpdatePartsDeps extends SharedParts {
  readonly lease: Lease;
  readonly store: StoreParts;
  readonly kafka: KafkaParts;
  readonly platform: PlatformParts;
  readonly tracing: Tracing | undefined;
  readonly sharedClock: Clock;
  /** These three are made later, from the way itself. They are asked for only in a term. */
  readonly keeper: () => Pick<LaneKeeper, 'reclaim' | 'reportLost' | 'reportLoss'>;
  readonly commands: () => Pick<CommandService, 'followCommitted' | 'missedCommitted'>;
  readonly rest: () => Pick<RestServer, 'wake'>;
}

export type UpdateParts = ReturnType<typeof updateParts>;

/**
 * An update's way: sources → orders → log. The code goes from its end to its start, because each
 * part is given the next one.
 */
export function updateParts(deps: UpdatePartsDeps, config: PlatformConfig) {
  const { clock, random, log, metrics, lease, store, platform, keeper, commands, rest } = deps;
  const writers = logParts(deps, config);
  const { relay, stateWriter } = writers;
  const ingest = new Ingest(
    {
      ...{ clock, log, lease, store: store.orders, metrics: metrics.ingest },
      lane: { reclaim: () => keeper().reclaim(), reportLost: (why) => keeper().reportLost(why) },
      onCommitted: (batch) => {
        relay.publishCommitted(batch);
        stateWriter.writeCommitted(batch);
        commands().followCommitted(batch);
        rest().wake();
      },
      onCommitUnseen: () => {
        relay.missedCommitted();
        stateWriter.missedCommitted();
        commands().missedCommitted();
        rest().wake();
      },
      backoff: new Backoff(random, { firstMs: 20, maxMs: 1000 }),
    },
    config,
  );
  const held = new HeldShards();
  const sources = credentialSources(
    { clock, random, log, metrics, store, platform, ingest: held.guard(ingest), held, observedBy: deps.sharedClock },
    config,
  );
  return { ...writers, ingest, held, sources };
}

/** The end of the way: the parts that write to Kafka, and the check before their first record. */
function logParts(deps: UpdatePartsDeps, config: PlatformConfig) {
  const { clock, random, log, metrics, tracing, lease, store, kafka, keeper } = deps;
  const lossCheck = new LossCheck({
    look: async () =>
      store.lanes.noticeLoss(lease.lane, {
        published: await kafka.newestPublished(),
        unpublishedAfter: witness.unpublishedAfter,
      }),
    onLoss: (loss) => keeper().reportLoss(loss),
    ...{ clock, log },
  });
  const mayWrite = () => lossCheck.mayPublish;
  const witness: WitnessWriter = new WitnessWriter({ clock, log, lease, publisher: kafka.witnessPublisher, mayWrite });
  const writing = { clock, random, logger: log, lease, witness, log: store.updates };
  const relay = new Relay(
    {
      ...{ ...writing, publisher: kafka.publisher },
      metrics: { ...metrics.relay, latency: metrics.ingest.latency },
      traces: tracing && new UpdateTraces({ tracing, random }, { every: config.traceUpdatesEvery }),
    },
    relayDefaults,
  );
  const stateWriter = new StateWriter(
    { ...writing, publisher: kafka.statePublisher, metrics: metrics.relay },
    { ...stateWriterDefaults, flushEveryMs: config.stateFlushMs },
  );
  return { lossCheck, witness, relay, stateWriter };
}
