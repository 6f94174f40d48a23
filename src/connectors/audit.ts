import type { Observation, Outcome } from '../domain/observation.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { ByteBudget } from '../runtime/byte-budget.ts';
import type { Clock } from '../runtime/clock.ts';
import type { AccountReader } from './account-reader.ts';
import { noRoom } from './read-errors.ts';
import type { ReadOutcome } from './read-progress.ts';
import { SilentLossWatch } from './silent-loss-watch.ts';
import type { Window } from './window.ts';

export interface AuditDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics['source'];
  readonly reader: AccountReader;
  /** One account is audited at a time. */
  readonly auditGate: Window;
  readonly budget: ByteBudget;
}

/**
 * The audit of one account: heartbeats prove the transport, this proves the data. What it finds is mended by ingest like any other row; here it is judged for
 * changes that the stream lost silently.
 */
export class Audit {
  private readonly losses: SilentLossWatch;
  private readonly deps: AuditDeps;

  constructor(deps: AuditDeps, options: { about: object; source: string; signal: AbortSignal }) {
    this.deps = deps;
    const room = deps.budget.share(options);
    this.losses = new SilentLossWatch(
      { ...deps, room },
      {
        onLoss: (orderId) => {
          deps.metrics.silentLosses.inc({ source: options.source });
          deps.log.warn({ ...options.about, orderId }, 'the stream lost a change that the audit found');
        },
      },
    );
  }

  /** Its turn may be long in coming. Nothing of the account waits with it, and nothing that the stream brings meanwhile is noted. */
  run(signal: AbortSignal): Promise<ReadOutcome> {
    return this.deps.auditGate.run(async () => {
      this.losses.begin();
      const outcome = await this.deps.reader.read('audit', signal);
      const { gaveUp } = this.losses;
      this.losses.end();
      return gaveUp && outcome.complete ? { complete: false, error: noRoom } : outcome;
    });
  }

  /** A row came by the stream. */
  delivered(observation: Observation): void {
    this.losses.delivered(observation);
  }

  /** What became of a row of the audit. */
  judge(observation: Observation, outcome: Outcome): void {
    if (outcome === 'applied') this.losses.found(observation);
  }

  stop(): void {
    this.losses.stop();
  }
}
