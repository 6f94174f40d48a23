import type { Config } from '../../config/config.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { HeldShards } from '../fleet/held-shards.ts';
import { LossCheck } from '../fleet/loss-check.ts';
import { CheckpointWriter } from '../log/checkpoint-writer.ts';
import { Relay } from '../log/relay.ts';
import { relayDefaults } from '../log/relay-options.ts';
import { UpdateTraces } from '../log/update-traces.ts';
import { Ingest } from '../orders/ingest.ts';
import { credentialParts } from './credential-parts.ts';
import type { Connected } from './platform-parts.ts';

export interface Flowing extends Connected {
  readonly way: ReturnType<typeof updateParts>;
}

/**
 * An update's way: sources → orders → log. The code goes from its end to its start, because each
 * part is given the next one.
 */
export function updateParts(made: Connected, config: Config) {
  const { clock, random, log, metrics, lease, store, later } = made;
  const { keeper, commands, rest } = later;
  const writers = logParts(made, config);
  const { relay } = writers;
  const ingest = new Ingest(
    {
      clock,
      log,
      lease,
      store: store.orders,
      metrics: metrics.ingest,
      lane: { reclaim: () => keeper().reclaim(), reportLost: (why) => keeper().reportLost(why) },
      onCommitted: (batch) => {
        relay.publishCommitted(batch);
        commands().followCommitted(batch);
        rest().wake();
      },
      onCommitUnseen: () => {
        relay.missedCommitted();
        commands().missedCommitted();
        rest().wake();
      },
      backoff: new Backoff(random, { firstMs: 20, maxMs: 1000 }),
    },
    config,
  );
  const held = new HeldShards();
  return { ...writers, ingest, held, ...credentialParts(made, held, held.guard(ingest), config) };
}

/** The end of the way: the parts that write to Kafka, and the check before their first record. */
function logParts(made: Connected, config: Config) {
  const { clock, random, log, metrics, tracing, lease, store, kafka, later } = made;
  const lossCheck = new LossCheck({
    lease,
    look: async ({ lane, epoch }) => store.lanes.noticeLoss(lane, await kafka.checkpoints.read(), epoch),
    holdBack: ({ lane, epoch }) => store.lanes.holdBack(lane, epoch),
    onLoss: (loss) => later.keeper().reportLoss(loss),
    clock,
    log,
  });
  const mayWrite = () => lossCheck.mayPublish;
  const checkpoint = new CheckpointWriter({ clock, lease, publisher: kafka.checkpointPublisher, mayWrite });
  const relay = new Relay(
    {
      clock,
      random,
      logger: log,
      lease,
      checkpoint,
      log: store.updates,
      publisher: kafka.publisher,
      statePublisher: kafka.statePublisher,
      metrics: { ...metrics.relay, latency: metrics.ingest.latency },
      traces: tracing && new UpdateTraces({ tracing, random }, { every: config.traceUpdatesEvery }),
    },
    { ...relayDefaults, states: { ...relayDefaults.states, flushEveryMs: config.stateFlushMs } },
  );
  return { lossCheck, checkpoint, relay };
}
