import { compareInstants } from '../domain/instant.ts';
import type { Observation } from '../domain/observation.ts';
import type { OrderReads } from '../platform/order-reads.ts';
import type { Clock } from '../runtime/clock.ts';
import type { AccountReader } from './account-reader.ts';
import type { ReadOutcome } from './read-progress.ts';
import type { RowIntake } from './row-intake.ts';

export interface HeldFrame {
  readonly row: unknown;
  readonly text: string;
  readonly receivedMs: number;
}

const maxHeld = 1_000;
/** A platform that loses its store more often than this is not mended by reading everything again. */
const restMs = 60_000;

/**
 * `unknown_store_lost` (reconciliation.md): the platform's versions may have restarted, so nothing of the account may be compared by version until the
 * whole of it was read again under the next source epoch.
 *
 * States: watching → frozen (frames wait, at most 1,000; what comes beyond is dropped and read again) → watching.
 * Invariant: the next epoch is durable before the first row is given it, or a crash in between would leave orders in an epoch that no later row reaches.
 * That the list can be read to its end is tried before that, so that a platform which is still down does not open an epoch.
 */
export class StoreLost {
  private epochOpened = false;
  private overflowed = false;
  private held: HeldFrame[] = [];
  private handledUpTo: string | undefined;
  private handledMs = Number.NEGATIVE_INFINITY;
  private readonly deps: {
    readonly reads: OrderReads;
    readonly reader: AccountReader;
    readonly intake: RowIntake;
    readonly clock: Clock;
  };

  constructor(deps: { reads: OrderReads; reader: AccountReader; intake: RowIntake; clock: Clock }) {
    this.deps = deps;
  }

  get active(): boolean {
    return this.deps.intake.suspended;
  }

  /**
   * Whether the observation tells of a loss that has not been dealt with: an order says so for as long as it lives. Also before the first complete read: what the
   * stream or half a list brought until then has versions of the old store already, here or of an earlier process.
   */
  isNews({ view }: Observation): boolean {
    if (view.certainty !== 'unknown_store_lost') return false;
    if (this.active) {
      this.noteHandled(view.updatedAt);
      return false;
    }
    const { readUpTo } = this.deps.reader.record;
    if (readUpTo !== undefined && compareInstants(view.updatedAt, readUpTo) <= 0) return false;
    if (this.handledUpTo !== undefined && compareInstants(view.updatedAt, this.handledUpTo) <= 0) return false;
    return this.deps.clock.monotonicMs() - this.handledMs >= restMs;
  }

  /** `cause`: the observation that told. */
  freeze(cause: Observation): void {
    this.deps.intake.suspended = true;
    this.epochOpened = false;
    this.deps.intake.outdate();
    this.noteHandled(cause.view.updatedAt);
    this.forgetHeld();
  }

  /** A frame that came while frozen. */
  hold(frame: HeldFrame): void {
    if (this.held.length < maxHeld) this.held.push(frame);
    else this.overflowed = true;
  }

  /** Frames of the connection that was closed say nothing about the new store. */
  forgetHeld(): void {
    this.held = [];
    this.overflowed = false;
  }

  /**
   * Runs on the connection that was opened after the freeze, subscribed: the list once to see that it is whole, the epoch, the list again through ingest.
   * On success the held frames are returned to be taken under the new epoch; `resync`: some had to be dropped.
   */
  async recover(
    signal: AbortSignal,
  ): Promise<ReadOutcome & { readonly frames?: readonly HeldFrame[]; readonly resync?: boolean }> {
    const { reads, reader } = this.deps;
    const request = { stream: 'prediction', accountId: reader.record.accountId, state: 'all' } as const;
    const trial = await reads.listOrders(request, async () => undefined, signal);
    if (!trial.complete) return trial;
    const failure = this.epochOpened ? undefined : await this.openEpoch();
    if (failure !== undefined) return failure;
    const outcome = await reader.read('complete', signal);
    if (!outcome.complete) return outcome;
    this.deps.intake.suspended = false;
    this.handledMs = this.deps.clock.monotonicMs();
    const frames = this.held;
    this.held = [];
    return { ...outcome, frames, resync: this.overflowed };
  }

  /** What the complete read shows of lost orders is dealt with by it, whatever their updatedAt. */
  private noteHandled(updatedAt: string): void {
    if (this.handledUpTo === undefined || compareInstants(updatedAt, this.handledUpTo) > 0) this.handledUpTo = updatedAt;
  }

  private async openEpoch(): Promise<ReadOutcome | undefined> {
    const { reader, intake } = this.deps;
    const sourceEpoch = reader.record.sourceEpoch + 1;
    try {
      await reader.save({ ...reader.record, sourceEpoch, readUpTo: undefined });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { complete: false, error: { code: 'STORE_UNAVAILABLE', message, retryable: true, sent: 'yes' } };
    }
    this.epochOpened = true;
    intake.sourceEpoch = sourceEpoch;
    intake.outdate();
    return undefined;
  }
}
