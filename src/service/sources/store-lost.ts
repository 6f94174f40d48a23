import { compareInstants } from '../../domain/instant.ts';
import type { Observation } from '../../domain/observation.ts';
import { BudgetedMap, type ByteBudget, type ByteShare } from '../../runtime/byte-budget.ts';
import type { Clock, Moment } from '../../runtime/clock.ts';
import { SingleFlight } from '../../runtime/waiting.ts';
import type { OrderReads, Page } from '../../venue/order-reads.ts';
import type { PlatformError } from '../../venue/platform-error.ts';
import { incomplete, notCommitted } from './account-access.ts';
import type { AccountReader } from './account-reader.ts';
import type { AccountReadResult } from './read-progress.ts';
import type { RowIntake } from './row-intake.ts';

interface HeldFrame {
  readonly row: unknown;
  readonly text: string;
  readonly receivedMs: number;
  /** What its connection had sent before then was read. */
  readonly upTo: Moment;
}

/** The newest view of an order that has reported its store as lost since the last loss. */
interface LossWitness {
  readonly updatedAt: string;
  readonly version: bigint | undefined;
  readonly reportsLoss: boolean;
}

const maxHeld = 1_000;
/** A frame is kept as its text and as the row that was read from it. */
const heldBytesOf = ({ text }: HeldFrame) => 4 * text.length;
/**
 * The time between two complete reads for two losses: more reads do not help a platform that loses
 * its store again and again.
 */
const restMs = 60_000;

/**
 * `unknown_store_lost` (docs/merging.md, "A lost store"): the platform's versions may have
 * restarted. So no version may be compared until the whole account was read again under the next
 * source epoch.
 *
 * States: watching → frozen (a loss was reported; frames wait, at most 1,000 and as long as there
 * is room; further ones are dropped and read again) → reading (rows go into the next epoch) →
 * watching, or → frozen at a further loss: the rows read so far may come from two stores, and one
 * more epoch follows. Invariant: a reported loss is never forgotten. The next epoch is saved as
 * soon as the account freezes: if the process ends before it could read the list, the next process
 * does. It is also saved before any row is given it: otherwise a crash in between would leave
 * orders in an epoch no later row reaches.
 */
export class StoreLost {
  private state: 'watching' | 'frozen' | 'reading' = 'watching';
  private overflowed = false;
  private held: HeldFrame[] = [];
  private readonly witnesses: BudgetedMap<LossWitness>;
  /** Every loss reported up to here, by the platform's clock, was followed by a complete read. */
  private handledUpTo: string | undefined;
  private handledMs = Number.NEGATIVE_INFINITY;
  private epochOpened = false;
  private readonly opening = new SingleFlight<PlatformError | undefined>();
  private readonly deps: {
    readonly reads: OrderReads;
    readonly reader: AccountReader;
    readonly intake: RowIntake;
    readonly clock: Clock;
    readonly budget: ByteBudget;
  };
  private readonly heldRoom: ByteShare;

  constructor(deps: StoreLost['deps'], { signal }: { signal: AbortSignal }) {
    this.deps = deps;
    this.heldRoom = deps.budget.share({ signal });
    this.witnesses = new BudgetedMap(deps.budget.share({ signal, lasting: true }));
    this.handledUpTo = deps.reader.record.readUpTo;
  }

  get active(): boolean {
    return this.state !== 'watching';
  }

  /** How long a loss that is reported now has to wait for its turn. */
  get restLeftMs(): number {
    return Math.max(0, this.handledMs + restMs - this.deps.clock.monotonicMs());
  }

  /**
   * Whether the row reports a loss that has not been handled. Every row comes here, in any state.
   * An order reports the loss for as long as it lives: it means a further loss only when the order
   * was certain in between, or when its version went back while its time moved forward.
   */
  reportsNewLoss({ view, sourceVersion }: Observation): boolean {
    const saysLost = view.certainty === 'unknown_store_lost';
    if (!saysLost && this.witnesses.size === 0) return false;
    const before = this.witnesses.get(view.orderId);
    if (before !== undefined && compareInstants(view.updatedAt, before.updatedAt) <= 0) return false;
    if (saysLost && this.state !== 'frozen' && !this.isKnown(view.updatedAt) && !goesOn(before, sourceVersion))
      return true;
    if (!saysLost && before === undefined) return false;
    // A loss reported before the complete read has begun is followed by that read. A later report
    // is an old one or continues one, and covers nothing.
    if (saysLost && this.state === 'frozen') {
      if (!this.isKnown(view.updatedAt)) this.dropHeld();
      this.noteHandled(view.updatedAt);
    }
    // Without room for a witness only instants distinguish an old report from a new one: at the
    // worst the account is read once more.
    this.witnesses.keep(view.orderId, { updatedAt: view.updatedAt, version: sourceVersion, reportsLoss: saysLost });
    return false;
  }

  /** `cause`: the row that reported the loss. */
  freeze(cause: Observation): void {
    const { intake } = this.deps;
    if (this.active) this.dropHeld();
    else this.forgetHeld();
    this.state = 'frozen';
    intake.suspend();
    this.witnesses.clear();
    this.reportsNewLoss(cause);
    this.epochOpened = false;
    void this.openEpoch();
  }

  /** A frame that came while frozen. */
  hold(frame: HeldFrame): void {
    if (this.held.length < maxHeld && this.heldRoom.take(heldBytesOf(frame))) this.held.push(frame);
    else this.overflowed = true;
  }

  /** Frames of the connection that was closed prove nothing about the new store. */
  forgetHeld(): void {
    this.held = [];
    this.heldRoom.giveBackAll();
    this.overflowed = false;
  }

  /** A further loss: what was held may be of the store lost now. The read brings the rest. */
  private dropHeld(): void {
    if (this.held.length === 0) return;
    this.forgetHeld();
    this.overflowed = true;
  }

  /**
   * Runs on the connection that was opened after the freeze, subscribed: the list is read once to
   * see it is whole and which orders report the loss, then again through ingest. On success the
   * held frames are returned to be taken under the new epoch; `resync`: some had to be dropped.
   */
  async recover(
    signal: AbortSignal,
  ): Promise<AccountReadResult & { readonly frames?: readonly HeldFrame[]; readonly resync?: boolean }> {
    const { reads, reader, intake, clock } = this.deps;
    const { stream, accountId } = reader.record;
    const request = { stream, accountId, state: 'all' } as const;
    const inspect = async ({ rows }: Page) => {
      for (const row of rows) intake.inspect(row);
    };
    const trial = await reads.listOrders(request, inspect, signal);
    if (!trial.complete) return trial;
    const failure = await this.openEpoch();
    if (failure !== undefined) return incomplete(failure);
    this.state = 'reading';
    const result = await reader.read('complete', signal);
    if (!result.complete) return result;
    if (!this.isReading()) return incomplete(lostAgain);
    this.state = 'watching';
    intake.resume();
    this.handledMs = clock.monotonicMs();
    const frames = this.held;
    this.held = [];
    this.heldRoom.giveBackAll();
    return { ...result, frames, resync: this.overflowed };
  }

  /**
   * A method, because otherwise the compiler would narrow `state`
   * to its value from before the read.
   */
  private isReading(): boolean {
    return this.state === 'reading';
  }

  private isKnown(updatedAt: string): boolean {
    return this.handledUpTo !== undefined && compareInstants(updatedAt, this.handledUpTo) <= 0;
  }

  private noteHandled(updatedAt: string): void {
    if (!this.isKnown(updatedAt)) this.handledUpTo = updatedAt;
  }

  /** Undefined: the epoch after the loss is durable. */
  private openEpoch(): Promise<PlatformError | undefined> {
    if (this.epochOpened) return Promise.resolve(undefined);
    return this.opening.run(() => this.saveEpoch());
  }

  private async saveEpoch(): Promise<PlatformError | undefined> {
    const { reader, intake } = this.deps;
    const sourceEpoch = reader.record.sourceEpoch + 1;
    try {
      await reader.save((record) => ({ ...record, sourceEpoch, readUpTo: undefined, auditedUpTo: undefined }));
    } catch (error) {
      return notCommitted(error);
    }
    this.epochOpened = true;
    intake.sourceEpoch = sourceEpoch;
    intake.advanceMark();
    return undefined;
  }
}

/**
 * The order was lost already, and its versions continue to rise. A row
 * without a version proves nothing about them.
 */
function goesOn(before: LossWitness | undefined, version: bigint | undefined): boolean {
  if (before?.reportsLoss !== true) return false;
  return version === undefined || before.version === undefined || version > before.version;
}

const lostAgain: PlatformError = {
  code: 'STORE_LOST',
  message: 'the platform lost its store again while it was read',
  retryable: true,
  sent: 'yes',
};
