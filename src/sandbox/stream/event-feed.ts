import { type ExchangeOrder, isClosed } from '../exchange/exchange-order.ts';
import type { VenueWords } from '../exchange/venue-words.ts';
import { instantText, jsonText } from '../exchange/wire-text.ts';
import type { Wire } from '../faults/wire-words.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { EventFaults } from './event-faults.ts';
import type { StreamSession, Subscriptions } from './stream-session.ts';

/** Who caused a change, for the ledger. */
type ChangeCause = 'market' | 'control' | 'entry' | 'venue';

/**
 * Takes each change to the ledger and to everybody who follows its account. The process as a whole
 * needs 12 to 18 µs of processor a change with one follower, ledger and kernel included
 * (decision 064).
 *
 * Invariant: a change is in the ledger (with its whole new state, unless the ledger is brief)
 * before its event is anywhere. For each follower a line says the event's fate: sent, or withheld
 * and by which fault.
 */
export class EventFeed {
  private cause: ChangeCause = 'control';
  private sent = 0;
  private readonly ledger: Ledger;
  private readonly subscriptions: Subscriptions;
  private readonly faults: EventFaults;
  private readonly wire: Wire;
  private readonly words: VenueWords;
  private readonly brief: boolean;

  constructor(
    deps: { ledger: Ledger; subscriptions: Subscriptions; faults: EventFaults; wire: Wire; words: VenueWords },
    options: { detail: 'full' | 'brief' },
  ) {
    this.ledger = deps.ledger;
    this.subscriptions = deps.subscriptions;
    this.faults = deps.faults;
    this.wire = deps.wire;
    this.words = deps.words;
    this.brief = options.detail === 'brief';
  }

  /**
   * Events without a fault, over all connections: a benchmark compares it with the reader's counts
   * without reading the ledger.
   */
  get eventsSent(): number {
    return this.sent;
  }

  /** Changes made inside `work` are recorded under `cause`. */
  during<T>(cause: ChangeCause, work: () => T): T {
    const before = this.cause;
    this.cause = cause;
    try {
      return work();
    } finally {
      this.cause = before;
    }
  }

  publish(order: ExchangeOrder, step: string): void {
    const { stream, account, orderId } = order.terms;
    const data = this.words.data(order);
    const version = stream === 'prediction' ? `,"version":"${order.version}"` : '';
    const whole = this.brief ? '' : `,"order":${data}`;
    const change = this.ledger.enter(
      'change',
      `,"cause":"${this.cause}","step":"${step}","stream":"${stream}","accountId":${jsonText(account.id)},"orderId":${jsonText(orderId)}${version},"updatedAt":"${instantText(order.updatedAt)}","closed":${isClosed(order.state)}${whole}`,
    );
    const followers = this.subscriptions.of(stream, account.id);
    if (followers.length === 0) return;
    const text = this.wire.worded(this.words.event(order, data, step));
    for (const session of followers) this.deliver(session, order, text, change);
  }

  /**
   * A hidden order is shown: its followers get its present state. Nothing about it changes, so
   * lists keep it at its old place.
   */
  show(order: ExchangeOrder): void {
    const { stream, account, orderId } = order.terms;
    const shown = this.ledger.enter('fault', { what: 'shown', stream, orderId });
    const followers = this.subscriptions.of(stream, account.id);
    if (followers.length === 0) return;
    const text = this.wire.worded(this.words.event(order, this.words.data(order), 'shown'));
    for (const session of followers) this.deliver(session, order, text, shown);
  }

  private deliver(session: StreamSession, order: ExchangeOrder, text: string, change: number): void {
    const result = this.faults.deliver(session, order, text, change);
    if (result === 'sent') this.sent += 1;
    this.ledger.enter('event', `,"change":${change},"session":${session.number},"result":"${result}"`);
  }
}
