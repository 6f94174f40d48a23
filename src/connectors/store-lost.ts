import { compareInstants } from '../domain/instant.ts';
import type { Observation } from '../domain/observation.ts';
import type { OrderReads, Page } from '../platform/order-reads.ts';
import type { PlatformError } from '../platform/platform-error.ts';
import { type ByteBudget, type ByteShare, entryBytes } from '../runtime/byte-budget.ts';
import type { Clock } from '../runtime/clock.ts';
import { notSettled } from './account-access.ts';
import type { AccountReader } from './account-reader.ts';
import type { ReadOutcome } from './read-progress.ts';
import type { RowIntake } from './row-intake.ts';

export interface HeldFrame {
  readonly row: unknown;
  readonly text: string;
  readonly receivedMs: number;
}

/** The newest view of an order that has said, since the last loss, that its store was lost. */
interface LossWitness {
  readonly updatedAt: string;
  readonly version: bigint | undefined;
  readonly saysLost: boolean;
}

const maxHeld = 1_000;
/** A frame is kept as its text and as the row that was read from it. */
const heldBytesOf = ({ text }: HeldFrame) => 4 * text.length;
/** Between two complete reads for two losses: a platform that loses its store again and again is not helped by readers. */
const restMs = 60_000;

/**
 * `unknown_store_lost` (docs/settling.md, "A lost store"): the platform's versions may have restarted, so nothing of the account may be compared by version
 * until the whole of it was read again under the next source epoch.
 *
 * States: watching → frozen (told of a loss; frames wait, at most 1,000 and as long as there is room; what comes beyond is dropped and read again) → reading (rows go into the next epoch)
 * → watching, or → frozen when a further loss is told of: the rows read so far may be of two stores, and one more epoch follows.
 * Invariant: a loss that was told of is never forgotten. The next epoch is saved as soon as the account freezes, so a process that ends before the list could be
 * read leaves it to the next one, and before the first row is given it, or a crash in between would leave orders in an epoch that no later row reaches.
 */
export class StoreLost {
  private state: 'watching' | 'frozen' | 'reading' = 'watching';
  private overflowed = false;
  private held: HeldFrame[] = [];
  private readonly witnesses = new Map<string, LossWitness>();
  /** A loss told of up to here, by the platform's clock, was followed by a complete read. */
  private handledUpTo: string | undefined;
  private handledMs = Number.NEGATIVE_INFINITY;
  private epochOpened = false;
  private opening: Promise<PlatformError | undefined> | undefined;
  private readonly deps: {
    readonly reads: OrderReads;
    readonly reader: AccountReader;
    readonly intake: RowIntake;
    readonly clock: Clock;
    readonly budget: ByteBudget;
  };
  private readonly heldRoom: ByteShare;
  private readonly witnessRoom: ByteShare;

  constructor(deps: StoreLost['deps'], { signal }: { signal: AbortSignal }) {
    this.deps = deps;
    this.heldRoom = deps.budget.share({ signal });
    this.witnessRoom = deps.budget.share({ signal, lasting: true });
    this.handledUpTo = deps.reader.record.readUpTo;
  }

  get active(): boolean {
    return this.state !== 'watching';
  }

  /** How long a loss that is told of now has to wait for its turn. */
  get restLeftMs(): number {
    return Math.max(0, this.handledMs + restMs - this.deps.clock.monotonicMs());
  }

  /**
   * Whether the row tells of a loss that has not been dealt with. Every row is shown to it, in any state. An order says so for as long as it lives: it tells of
   * a further loss only when it was certain in between, or when its version went back while its time went on.
   */
  isNews({ view, sourceVersion }: Observation): boolean {
    const saysLost = view.certainty === 'unknown_store_lost';
    if (!saysLost && this.witnesses.size === 0) return false;
    const before = this.witnesses.get(view.orderId);
    if (before !== undefined && compareInstants(view.updatedAt, before.updatedAt) <= 0) return false;
    if (saysLost && this.state !== 'frozen' && !this.isKnown(view.updatedAt) && !goesOn(before, sourceVersion)) return true;
    if (!saysLost && before === undefined) return false;
    // A loss told of before the complete read has begun is followed by it. Later, such a word is an old one or goes on, and covers nothing.
    if (saysLost && this.state === 'frozen') this.noteHandled(view.updatedAt);
    // Without room for it only instants tell an old word from a new one: at the worst the account is read once more.
    if (before !== undefined || this.witnessRoom.take(entryBytes(view.orderId)))
      this.witnesses.set(view.orderId, { updatedAt: view.updatedAt, version: sourceVersion, saysLost });
    return false;
  }

  /** `cause`: the row that told of it. */
  freeze(cause: Observation): void {
    const { intake } = this.deps;
    if (!this.active) this.forgetHeld();
    this.state = 'frozen';
    intake.suspended = true;
    intake.outdate();
    this.witnesses.clear();
    this.witnessRoom.giveBackAll();
    this.isNews(cause);
    this.epochOpened = false;
    void this.openEpoch();
  }

  /** A frame that came while frozen. */
  hold(frame: HeldFrame): void {
    if (this.held.length < maxHeld && this.heldRoom.take(heldBytesOf(frame))) this.held.push(frame);
    else this.overflowed = true;
  }

  /** Frames of the connection that was closed say nothing about the new store. */
  forgetHeld(): void {
    this.held = [];
    this.heldRoom.giveBackAll();
    this.overflowed = false;
  }

  /**
   * Runs on the connection that was opened after the freeze, subscribed: the list once to see that it is whole and which orders say so, then again through ingest.
   * On success the held frames are returned to be taken under the new epoch; `resync`: some had to be dropped.
   */
  async recover(
    signal: AbortSignal,
  ): Promise<ReadOutcome & { readonly frames?: readonly HeldFrame[]; readonly resync?: boolean }> {
    const { reads, reader, intake, clock } = this.deps;
    const request = { stream: 'prediction', accountId: reader.record.accountId, state: 'all' } as const;
    const inspect = async ({ rows }: Page) => {
      for (const row of rows) intake.inspect(row);
    };
    const trial = await reads.listOrders(request, inspect, signal);
    if (!trial.complete) return trial;
    const failure = await this.openEpoch();
    if (failure !== undefined) return { complete: false, error: failure };
    this.state = 'reading';
    const outcome = await reader.read('complete', signal);
    if (!outcome.complete) return outcome;
    if (!this.isReading()) return { complete: false, error: lostAgain };
    this.state = 'watching';
    intake.suspended = false;
    this.handledMs = clock.monotonicMs();
    const frames = this.held;
    this.held = [];
    this.heldRoom.giveBackAll();
    return { ...outcome, frames, resync: this.overflowed };
  }

  /** A method, or the compiler would take the state from before the read for the present one. */
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
    this.opening ??= this.saveEpoch().finally(() => {
      this.opening = undefined;
    });
    return this.opening;
  }

  private async saveEpoch(): Promise<PlatformError | undefined> {
    const { reader, intake } = this.deps;
    const sourceEpoch = reader.record.sourceEpoch + 1;
    try {
      await reader.save((record) => ({ ...record, sourceEpoch, readUpTo: undefined }));
    } catch (error) {
      return notSettled(error);
    }
    this.epochOpened = true;
    intake.sourceEpoch = sourceEpoch;
    intake.outdate();
    return undefined;
  }
}

/** The order was lost already, and its versions go on counting. A row without a version says nothing of them. */
function goesOn(before: LossWitness | undefined, version: bigint | undefined): boolean {
  if (before?.saysLost !== true) return false;
  return version === undefined || before.version === undefined || version > before.version;
}

const lostAgain: PlatformError = {
  code: 'STORE_LOST',
  message: 'the platform lost its store again while it was read',
  retryable: true,
  sent: 'yes',
};
