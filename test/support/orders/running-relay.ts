import type { CommittedBatch } from '../../../src/domain/committed-batch.ts';
import { createMetrics, type Metrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import type { Publisher } from '../../../src/service/log/publisher.ts';
import type { Relay } from '../../../src/service/log/relay.ts';
import { LaneLog } from './lane-log.ts';
import { openRelay } from './open-relay.ts';

/**
 * A relay at work on the machine's clock, on a log in memory, with a
 * source that commits as long as it is told to.
 */
export class RunningRelay {
  readonly log = new LaneLog(systemClock);
  readonly metrics: Metrics = createMetrics();
  readonly relay: Relay;
  private committing = true;
  private source: Promise<void> | undefined;

  constructor(publisher: Publisher) {
    const lease = new Lease(systemClock, 3_600_000);
    lease.confirm(1n, systemClock.monotonicMs());
    const { log, metrics } = this;
    const backoff = { firstMs: 20, maxMs: 200 };
    this.relay = openRelay({ log, publisher, lease, clock: systemClock, metrics }, { backoff });
  }

  async start(): Promise<void> {
    await this.relay.start();
    this.relay.begin(0n);
  }

  /** Commits `rows` rows each `everyMs` until `stopCommitting`. */
  commitSteadily(rows: number, everyMs: number): void {
    this.committing = true;
    this.source = (async () => {
      while (this.committing) {
        this.commit(rows);
        await systemClock.sleep(everyMs);
      }
    })();
  }

  commit(rows: number): CommittedBatch {
    const first = this.log.rows.length;
    const batch = this.log.commit(
      Array.from({ length: rows }, (_, i) => ({ topic: 'updates', key: `prediction:order-${(first + i) % 97}` })),
    );
    this.relay.publishCommitted(batch);
    return batch;
  }

  async stopCommitting(): Promise<void> {
    this.committing = false;
    await this.source;
  }

  /** The last row that Kafka acknowledged, as far as it is saved. */
  get position(): bigint {
    return this.log.position('log');
  }

  get lastSeq(): bigint {
    return this.log.rows.at(-1)?.seq ?? 0n;
  }

  async drain(): Promise<void> {
    await this.stopCommitting();
    await this.relay.drain(AbortSignal.timeout(10_000));
  }
}
