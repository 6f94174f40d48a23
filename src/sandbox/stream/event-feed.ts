import { type ExchangeOrder, isClosed } from '../exchange/exchange-order.ts';
import { instantText, jsonText } from '../exchange/wire-text.ts';
import type { SandboxParts } from '../sandbox-parts.ts';

/** Who caused a change, for the ledger. */
type ChangeCause = 'market' | 'control' | 'entry' | 'venue';

type EventFeedDeps = Pick<SandboxParts, 'ledger' | 'subscriptions' | 'eventFaults' | 'wire' | 'words'>;

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
  /**
   * Events without a fault, over all connections: a benchmark compares it with the reader's counts
   * without reading the ledger.
   */
  eventsSent = 0;
  private readonly deps: EventFeedDeps;
  private readonly isBrief: boolean;

  constructor(deps: EventFeedDeps, options: { detail: 'full' | 'brief' }) {
    this.deps = deps;
    this.isBrief = options.detail === 'brief';
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
    const data = this.deps.words.data(order);
    const version = stream === 'prediction' ? `,"version":"${order.version}"` : '';
    const whole = this.isBrief ? '' : `,"order":${data}`;
    const change = this.deps.ledger.enter(
      'change',
      `,"cause":"${this.cause}","step":"${step}","stream":"${stream}","accountId":${jsonText(account.id)},"orderId":${jsonText(orderId)}${version},"updatedAt":"${instantText(order.updatedAt)}","closed":${isClosed(order.state)}${whole}`,
    );
    this.deliver(order, data, step, change);
  }

  /**
   * A hidden order is shown: its followers get its present state. Nothing about it changes, so
   * lists keep it at its old place.
   */
  show(order: ExchangeOrder): void {
    const { stream, orderId } = order.terms;
    const shown = this.deps.ledger.enter('fault', { what: 'shown', stream, orderId });
    this.deliver(order, this.deps.words.data(order), 'shown', shown);
  }

  private deliver(order: ExchangeOrder, data: string, step: string, change: number): void {
    const { subscriptions, words, wire, eventFaults, ledger } = this.deps;
    const followers = subscriptions.of(order.terms.stream, order.terms.account.id);
    if (followers.length === 0) return;
    const text = wire.worded(words.event(order, data, step));
    for (const session of followers) {
      const result = eventFaults.deliver(session, order, text, change);
      if (result === 'sent') this.eventsSent += 1;
      ledger.enter('event', `,"change":${change},"session":${session.number},"result":"${result}"`);
    }
  }
}
