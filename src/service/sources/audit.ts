import { compareInstants, sameToCoarser } from '../../domain/instant.ts';
import type { Observation, ObservationResult } from '../../domain/observation.ts';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { type ByteBudget, type ByteShare, entryBytes } from '../../runtime/byte-budget.ts';
import type { Clock } from '../../runtime/clock.ts';
import { RecentCount, type RecentEvents } from '../../runtime/recent-count.ts';
import { incomplete, noRoom } from './account-access.ts';
import type { AccountReader } from './account-reader.ts';
import type { AccountReadResult } from './read-progress.ts';
import type { SilencePace } from './silence-pace.ts';
import type { AuditFindings } from './source-status.ts';
import type { Window } from './window.ts';

const graceMs = 5_000;

interface Noted {
  readonly version: bigint | undefined;
  readonly updatedAt: string;
}

/**
 * Tells a silent loss from a race: an audit found a change first, and only if the stream has not
 * delivered it 5 s later, it is lost.
 *
 * States: idle → watching (an audit runs, or a found change waits for its 5 s) → idle. Only while
 * watching are stream rows noted, so the hot path pays for it a few seconds a minute. Notes and
 * found changes share one room with all accounts. Without room for one, all are given up until the
 * next audit: nothing can be proven without them, and the audit counts as incomplete (`gaveUp`).
 */
export class SilentLossWatch {
  private audits = 0;
  /** Of the last audit begun: aborted once its connection has ended. */
  private connected: AbortSignal | undefined;
  private withoutRoom = false;
  private waiting = 0;
  private readonly noted = new Map<string, Noted>();
  private readonly clock: Clock;
  private readonly room: ByteShare;
  private readonly options: { readonly signal: AbortSignal; readonly onLoss: (orderId: string) => void };

  /** Once `signal` aborts, changes that still wait are not judged any more. */
  constructor(deps: { clock: Clock; room: ByteShare }, options: SilentLossWatch['options']) {
    this.clock = deps.clock;
    this.room = deps.room;
    this.options = options;
  }

  /** Orders that are noted at the moment. */
  get notedCount(): number {
    return this.noted.size;
  }

  /** There was no room for the notes of the present audit. */
  get gaveUp(): boolean {
    return this.withoutRoom;
  }

  begin(connected: AbortSignal): void {
    this.audits += 1;
    this.connected = connected;
  }

  end(): void {
    this.audits -= 1;
    this.forgetWhenIdle();
  }

  /** A row came by the stream. */
  delivered({ view: { orderId, updatedAt }, sourceVersion: version }: Observation): void {
    if (this.audits + this.waiting === 0 || this.withoutRoom) return;
    const row = { version, updatedAt };
    // Two connections deliver while one replaces the other: the older one's row may come last.
    if (this.covers(orderId, row)) return;
    if (this.noted.has(orderId) || this.room.take(entryBytes(orderId))) this.noted.set(orderId, row);
    else this.giveUp();
  }

  /** An audit's row was new to us. */
  found({ view, sourceVersion: version }: Observation): void {
    const { signal, onLoss } = this.options;
    if (signal.aborted || this.withoutRoom) return;
    const { orderId, updatedAt } = view;
    const bytes = entryBytes(orderId);
    if (!this.room.take(bytes)) {
      this.giveUp();
      return;
    }
    const { connected } = this;
    this.waiting += 1;
    void this.clock.sleep(graceMs, signal).then(() => {
      if (signal.aborted) return;
      // A connection that ended meanwhile had no time to bring it: that loss is not silent.
      const isJudged = !this.withoutRoom && connected?.aborted !== true;
      if (isJudged && !this.covers(orderId, { version, updatedAt })) onLoss(orderId);
      this.waiting -= 1;
      this.room.giveBack(bytes);
      this.forgetWhenIdle();
    });
  }

  private covers(orderId: string, { version, updatedAt }: Noted): boolean {
    const noted = this.noted.get(orderId);
    if (noted === undefined) return false;
    if (noted.version !== undefined && version !== undefined) return noted.version >= version;
    return compareInstants(noted.updatedAt, updatedAt) >= 0 || sameToCoarser(noted.updatedAt, updatedAt);
  }

  private forgetWhenIdle(): void {
    if (this.audits + this.waiting > 0) return;
    this.forget();
    this.withoutRoom = false;
  }

  private giveUp(): void {
    this.withoutRoom = true;
    this.forget();
  }

  private forget(): void {
    this.noted.clear();
    this.room.giveBackAll();
  }
}

interface VerifyDeps extends ClockAndLogger {
  readonly metrics: Metrics['source'];
  readonly reader: AccountReader;
  readonly silencePace: SilencePace;
  /**
   * One account of a venue is audited at a time, whatever its login. An audit may wait for the
   * venue, and other venues' audits do not wait for it.
   */
  readonly auditGate: Window;
  readonly budget: ByteBudget;
}

/**
 * The audit of one account: heartbeats prove the transport, this proves the data. Ingest takes the
 * rows it finds like any others; here they are judged for changes that the stream lost silently.
 */
export class Audit {
  /** Gets each row of the stream, and ends with the account's session. */
  readonly losses: SilentLossWatch;
  private readonly lost: RecentCount;
  private readonly deps: VerifyDeps;
  /**
   * For the last audit begun, and for the last one ended. They are the same once it is over: a loss
   * is known only later.
   */
  private present = { orders: 0, changes: 0, silentLosses: 0 };
  private last = this.present;

  constructor(deps: VerifyDeps, options: { about: object; source: string; signal: AbortSignal }) {
    this.deps = deps;
    const room = deps.budget.share(options);
    this.lost = new RecentCount(deps.clock);
    this.losses = new SilentLossWatch(
      { ...deps, room },
      {
        ...options,
        onLoss: (orderId) => {
          this.lost.add();
          this.present.silentLosses += 1;
          deps.silencePace.beginAnew();
          deps.metrics.silentLosses.inc({ source: options.source });
          deps.log.warn({ ...options.about, orderId }, 'the stream lost a change that the audit found');
        },
      },
    );
  }

  /**
   * The changes that the stream lost silently in the last hour,
   * since the account has been followed.
   */
  get silentLosses(): RecentEvents {
    return this.lost.lastHour();
  }

  /** Of the last audit that ended. */
  get found(): AuditFindings {
    return { ...this.last };
  }

  /**
   * Its turn may take long. The account's other work does not wait for it, and stream rows
   * meanwhile are not noted.
   */
  run(signal: AbortSignal): Promise<AccountReadResult> {
    return this.deps.auditGate.run(async () => {
      this.losses.begin(signal);
      this.present = { orders: 0, changes: 0, silentLosses: 0 };
      const result = await this.deps.reader.read('audit', signal);
      const { gaveUp } = this.losses;
      this.losses.end();
      if (result.complete) {
        this.present.orders = result.rows;
        this.last = this.present;
      }
      return gaveUp && result.complete ? incomplete(noRoom) : result;
    });
  }

  /**
   * Takes an audit row's result. A row that only adds to what the stream brought (`learnt`) is a
   * change, and the stream lost nothing.
   */
  judge(observation: Observation, result: ObservationResult, learnt?: boolean): void {
    if (result !== 'applied') return;
    this.present.changes += 1;
    if (learnt !== true) this.losses.found(observation);
  }
}
