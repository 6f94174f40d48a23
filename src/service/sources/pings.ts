import type { Moment } from '../../runtime/clock.ts';

/**
 * With more unanswered ones than this, the oldest are forgotten: a peer
 * that answers at all answers a newer one.
 */
const maxUnanswered = 32;

/**
 * The pings of one connection, and what their pongs prove. A pong stands behind everything that the
 * peer sent before it, so once it is read, everything that the peer had sent when our ping left has
 * been read. The time at which a message is read proves nothing: older ones may wait in the kernel,
 * in a socket that we have paused, or behind a freeze of the process.
 *
 * Invariant: `readUpTo` never falls. A pong that answers no ping of this connection, or one that
 * was answered already, changes nothing.
 */
export class Pings {
  /**
   * When the newest ping left that was answered; before the first
   * one, when the connection was asked for.
   */
  readUpTo: Moment;
  /** Oldest first, by payload. */
  private readonly unanswered = new Map<string, Moment>();
  private count = 0;

  constructor(began: Moment) {
    this.readUpTo = began;
  }

  /**
   * To be called just before the ping leaves. Returns its payload,
   * which no other ping of this process has.
   */
  sent(moment: Moment): string {
    this.count += 1;
    const payload = `${this.count} ${moment.monotonicMs}`;
    this.unanswered.set(payload, moment);
    const [oldest] = this.unanswered.keys();
    if (this.unanswered.size > maxUnanswered && oldest !== undefined) this.unanswered.delete(oldest);
    return payload;
  }

  /** False: it is the answer to no ping of ours. */
  answered(payload: string): boolean {
    const moment = this.unanswered.get(payload);
    if (moment === undefined) return false;
    this.readUpTo = moment;
    // A peer may answer only the newest of several pings (RFC 6455, section 5.5.3).
    for (const each of this.unanswered.keys()) {
      this.unanswered.delete(each);
      if (each === payload) break;
    }
    return true;
  }
}
