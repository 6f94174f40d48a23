import { createMetrics, type Metrics } from '../../../src/observability/metrics.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { Lease } from '../../../src/runtime/lease.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { Publisher, StatePublisher } from '../../../src/service/log/publisher.ts';
import { Relay } from '../../../src/service/log/relay.ts';
import { type RelayOptions, relayDefaults } from '../../../src/service/log/relay-options.ts';
import type { StateWriterOptions } from '../../../src/service/log/state-writer.ts';
import type { UpdateLog } from '../../../src/store/orders/update-log.ts';
import { silentLog } from '../runs/silent-log.ts';

interface Changed extends Partial<Omit<RelayOptions, 'states'>> {
  readonly states?: Partial<StateWriterOptions>;
}

interface RelayOn {
  readonly clock: Clock;
  readonly log: UpdateLog;
  readonly lease: Lease;
  /** A publisher that is left out takes everything at once. */
  readonly publisher?: Publisher;
  readonly statePublisher?: StatePublisher;
  readonly metrics?: Metrics;
  readonly random?: Random;
}

const nothing = async () => undefined;

/** A relay for a test's log, with the defaults of an installation where the test has none. */
export function openRelay({ metrics = createMetrics(), ...on }: RelayOn, { states, ...options }: Changed = {}): Relay {
  return new Relay(
    {
      publisher: { publish: nothing, close: nothing },
      statePublisher: { takeOver: nothing, flush: nothing, close: nothing },
      ...{ random: seededRandom(3), logger: silentLog, ...on },
      metrics: { ...metrics.relay, latency: metrics.ingest.latency },
    },
    { ...relayDefaults, ...options, states: { ...relayDefaults.states, ...states } },
  );
}
