import type { Clock } from '../../src/runtime/clock.ts';
import type { WriteKind } from '../../src/sandbox/entry/write.ts';
import { type ExchangeOrder, isClosed, type Stream } from '../../src/sandbox/exchange/exchange-order.ts';

/** One request of order entry, from its first byte on. */
export interface LedgerWrite {
  readonly number: number;
  readonly attemptId: string;
  /** Which process sent it. */
  readonly from: string;
  readonly leftMs: number;
  readonly bytes: string;
  kind: WriteKind | undefined;
  stream: Stream | undefined;
  /** Whose bytes these are is known on arrival. */
  arrivedMs: number | undefined;
  /**
   * `underway`: on the wire, or put off. `done`: order entry took it. `refused`: it did not.
   * `dropped`: never will it arrive.
   */
  fate: 'underway' | 'done' | 'refused' | 'dropped';
  /** It was done behind its answer. */
  late: boolean;
  order: ExchangeOrder | undefined;
  /**
   * What its sender was told: something certain, that nothing was
   * sent, or nothing that it could rely on.
   */
  told: 'certain' | 'not_sent' | 'nothing';
  /**
   * Replace and cancel: what the venue made of it. `ended`: the order ended before it was answered.
   */
  venue: 'granted' | 'refused' | 'ended' | undefined;
}

/**
 * The platform's own account of what it was asked to do: the oracle of all that commands claim.
 *
 * Invariant: entries are only added; `fate` leaves `underway` once, `venue` is set once.
 */
export class WriteLedger {
  readonly writes: LedgerWrite[] = [];
  /** Told once a write is done, and when its first byte leaves. */
  onDone: (write: LedgerWrite) => void = () => {};
  /** Told first, with the order that was done something to. */
  onTaken: (order: ExchangeOrder) => void = () => {};
  onLeft: (write: LedgerWrite) => void = () => {};
  private readonly byAttempt = new Map<string, LedgerWrite[]>();
  /** What each order's venue has not answered yet. */
  private readonly pending = new Map<ExchangeOrder, LedgerWrite>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  left(attemptId: string, from: string, bytes: string): LedgerWrite {
    const write: LedgerWrite = {
      number: this.writes.length + 1,
      attemptId,
      from,
      leftMs: this.clock.monotonicMs(),
      bytes,
      kind: undefined,
      stream: undefined,
      arrivedMs: undefined,
      fate: 'underway',
      late: false,
      order: undefined,
      told: 'nothing',
      venue: undefined,
    };
    this.writes.push(write);
    this.byAttempt.set(attemptId, [...this.ofAttempt(attemptId), write]);
    this.onLeft(write);
    return write;
  }

  ofAttempt(attemptId: string): readonly LedgerWrite[] {
    return this.byAttempt.get(attemptId) ?? [];
  }

  done(write: LedgerWrite, order: ExchangeOrder): void {
    write.fate = 'done';
    write.order = order;
    // The venue did not have it yet, so it was not asked.
    if (write.kind === 'cancel' && isClosed(order.state)) write.venue = 'granted';
    else if (write.kind !== 'place') this.pending.set(order, write);
    this.onTaken(order);
    this.onDone(write);
  }

  /** After each change of the exchange. */
  changed(order: ExchangeOrder, step: string): void {
    const write = this.pending.get(order);
    if (write === undefined) return;
    const granted = step === (write.kind === 'cancel' ? 'canceled' : 'replace_accepted');
    if (granted) write.venue = 'granted';
    else if (step === `${write.kind}_refused`) write.venue = 'refused';
    else if (isClosed(order.state)) write.venue = 'ended';
    else return;
    this.pending.delete(order);
  }
}
