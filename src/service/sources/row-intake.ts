import { createHash } from 'node:crypto';
import type { Observation, Unreadable } from '../../domain/observation.ts';
import type { Stream } from '../../domain/order.ts';
import { traits } from '../../domain/streams.ts';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import { dropOldest } from '../../runtime/drop-oldest.ts';
import type { Venue } from '../../venue/venue.ts';
import type { UnnamedOrder } from './account-access.ts';
import { decodeOrder, type ForeignRow, type RowOrigin, textOf } from './decode-order.ts';
import type { ObservationSink } from './observation-sink.ts';
import type { RecordedRow } from './recorded-row.ts';

/**
 * The facts about a row that its content does not give. `urgent` is never set for a whole list:
 * that would hold up the streams. `onDoubt` is called beside the account's own.
 */
interface RowSource
  extends Pick<Observation, 'cause' | 'receivedMs' | 'bytes' | 'overrules' | 'urgent' | 'upTo' | 'onDoubt'> {
  /** Gives the text as it came; called only when the row cannot be read. */
  readonly raw: () => string;
  /**
   * `RowIntake.mark` from before the row was asked for. Left out by stream frames: their
   * connections are closed when the store is lost.
   */
  readonly storeMark?: number;
  readonly onResult?: OnRowResult | undefined;
}

/**
 * The row was held back: by the guard, or because the platform's store was lost since it was asked
 * for. No part of it went to ingest.
 */
interface Withheld {
  readonly kind: 'withheld';
}

export type OnRowResult = (observation: Observation, ...how: Parameters<NonNullable<Observation['onResult']>>) => void;

export type TakenRow = Decoded | Withheld;
type Decoded = ReturnType<typeof decodeOrder>;

interface RowIntakeDeps extends ClockAndLogger {
  /**
   * The wall time of `observedAt`: the database's, as that of the sends that it is held against
   * (docs/decisions/084-commands-go-by-the-databases-time.md). Left out: the machine's.
   */
  readonly observedBy?: Pick<Clock, 'nowMs'> | undefined;
  readonly venue: Venue;
  readonly sink: ObservationSink;
  readonly metrics: Metrics['source'];
  /** Gets every order before its version is used. True: the order is not offered. */
  readonly guard: (observation: Observation) => boolean;
  /** Called for rows after whose commit the order ought to be read from REST. */
  readonly onDoubt: Observation['onDoubt'];
  /** Called with each order if its id needs a further look. */
  readonly onOddId?: RowOrigin['onOddId'];
  /** Called with every offered row's order. */
  readonly onOrder: (orderId: string) => void;
  /** Called with every row, if rows are recorded. */
  readonly record?: ((row: RecordedRow) => void) | undefined;
}

const rememberedFaults = 1_000;
/** Orders of ours without a row yet. Mostly the first row of one binds it, within a second. */
const rememberedOwn = 1_000;

/**
 * The one way for an account's rows into ingest, from its stream and its lists. Every row ends as
 * offered, kept as a dead letter, dropped because it is another account's (alarmed), passed over
 * because its order has no id yet (counted), or withheld.
 *
 * Invariant: if a row was asked for before the platform's store was lost, or before the next source
 * epoch was opened, it is never given the later epoch.
 */
export class RowIntake {
  /** The source epoch that rows are given from now on. */
  sourceEpoch: number;
  private isSuspended = false;
  private store = 0;
  /**
   * A digest for each order's last unreadable row: the rows themselves, up to 64 KiB each, were 64
   * MB for an account.
   */
  private readonly faults = new Map<string, string>();
  /** References for orders which our own write's answer named by id alone. */
  private readonly own = new Map<string, string>();
  private foreignSeen = false;
  private readonly deps: RowIntakeDeps;
  private readonly stream: Stream;
  private readonly accountId: string;

  constructor(deps: RowIntakeDeps, options: { stream: Stream; accountId: string; sourceEpoch: number }) {
    this.deps = deps;
    this.stream = options.stream;
    this.accountId = options.accountId;
    this.sourceEpoch = options.sourceEpoch;
  }

  /** The store is lost: only the read that fills the next epoch may offer rows. */
  get suspended(): boolean {
    return this.isSuspended;
  }

  /** Until `resume` no stream row is offered, and no answer still under way. */
  suspend(): void {
    this.isSuspended = true;
    this.advanceMark();
  }

  resume(): void {
    this.isSuspended = false;
  }

  /**
   * Names the platform's store as it is known now: taken before a
   * row is asked for, and handed back with it.
   */
  get mark(): number {
    return this.store;
  }

  /**
   * The store is lost, or another epoch begins: answers that are still under way belong to neither.
   */
  advanceMark(): void {
    this.store += 1;
  }

  get rememberedBytes(): number {
    let bytes = 0;
    for (const kept of [this.faults, this.own]) for (const [id, text] of kept) bytes += id.length + text.length;
    return bytes;
  }

  /**
   * From now on this order's rows without a reference have this one. A row with another reference
   * keeps its own.
   */
  expectOwn({ orderId, reference }: UnnamedOrder): void {
    this.own.set(orderId, reference);
    dropOldest(this.own, rememberedOwn);
  }

  takeRow(row: unknown, source: RowSource): TakenRow {
    const item = this.judge(row, source);
    this.deps.record?.({
      stream: this.stream,
      accountId: this.accountId,
      cause: source.cause,
      sourceEpoch: this.sourceEpoch,
      observedAtMs: (this.deps.observedBy ?? this.deps.clock).nowMs(),
      text: textOf(source.raw),
      ...(source.overrules !== undefined && { confirmed: true }),
      ...(item.kind === 'withheld' && { withheld: true }),
    });
    return item;
  }

  private judge(row: unknown, source: RowSource): TakenRow {
    if (source.storeMark !== undefined && source.storeMark !== this.store) return { kind: 'withheld' };
    const item = this.withReference(decodeOrder(row, this.originOf(source), source.raw));
    if (item.kind === 'order' && this.deps.guard(item)) return { kind: 'withheld' };
    if (this.suspended && source.cause === 'stream') return { kind: 'withheld' };
    if (item.kind === 'order') {
      this.deps.sink.offer(withResult(item, source.onResult));
      this.deps.onOrder(item.view.orderId);
    } else if (item.kind === 'foreign') {
      this.foreign(item);
    } else if (item.kind === 'unacknowledged') {
      this.deps.metrics.frames.inc({ source: this.stream, type: 'unacknowledged' });
    } else if (source.cause === 'stream' || this.isNewFault(item)) {
      this.deps.metrics.decodeFailures.inc({ source: this.stream, reason: item.reason });
      this.deps.sink.offer(item);
    }
    return item;
  }

  /** Shows a row to the guard; no part of it is offered. */
  inspect(row: unknown): void {
    const source = { cause: 'snapshot', receivedMs: this.deps.clock.monotonicMs(), bytes: 0, raw: () => '' } as const;
    const item = decodeOrder(row, this.originOf(source), source.raw);
    if (item.kind === 'order') this.deps.guard(item);
  }

  private withReference(item: Decoded): Decoded {
    if (this.own.size === 0 || item.kind !== 'order') return item;
    const { view } = item;
    const reference = this.own.get(view.orderId);
    const field = traits[this.stream].reference;
    if (reference === undefined || view[field] !== undefined) return item;
    return { ...item, view: { ...view, [field]: reference } };
  }

  private originOf({ cause, receivedMs, bytes, overrules, urgent, upTo, onDoubt }: RowSource): RowOrigin {
    return {
      stream: this.stream,
      venue: this.deps.venue,
      accountId: this.accountId,
      sourceEpoch: this.sourceEpoch,
      cause,
      observedAtMs: (this.deps.observedBy ?? this.deps.clock).nowMs(),
      receivedMs,
      bytes,
      overrules,
      urgent,
      onDoubt: onDoubt === undefined ? this.deps.onDoubt : both(this.deps.onDoubt, onDoubt),
      onOddId: this.deps.onOddId,
      upTo,
    };
  }

  private foreign(item: ForeignRow): void {
    this.deps.metrics.frames.inc({ source: this.stream, type: 'foreign' });
    if (this.foreignSeen) return;
    this.foreignSeen = true;
    const about = { stream: this.stream, accountId: this.accountId, foreignAccountId: item.accountId };
    this.deps.log.error(about, 'the platform sent an order of another account; dropped, counted from now on');
  }

  /** An audit meets the same unreadable row every minute: it is kept once for each content. */
  private isNewFault(item: Unreadable): boolean {
    const name = item.orderId ?? '';
    const digest = createHash('sha256').update(item.raw).digest('base64');
    if (this.faults.get(name) === digest) return false;
    if (this.faults.size >= rememberedFaults) this.faults.clear();
    this.faults.set(name, digest);
    return true;
  }
}

function both(first: Observation['onDoubt'], second: NonNullable<Observation['onDoubt']>): typeof second {
  return (...raised) => {
    first?.(...raised);
    second(...raised);
  };
}

function withResult(item: Observation, onResult: RowSource['onResult']): Observation {
  return onResult === undefined ? item : { ...item, onResult: (...how) => onResult(item, ...how) };
}
