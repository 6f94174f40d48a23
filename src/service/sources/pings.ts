import type { Moment } from '../../runtime/clock.ts';
import { dropOldest } from '../../runtime/drop-oldest.ts';

/**
 * With more unanswered ones than this, the oldest are forgotten: a peer
 * that answers at all answers a newer one.
 */
const maxUnanswered = 32;

/**
 * One connection's pings, and what their pongs prove. A pong stands behind everything its peer sent
 * before, so once we read it, we have read all the peer had sent when our ping left. The time we
 * read a message proves nothing: older ones may wait in the kernel, in a paused socket, or behind a
 * frozen process.
 *
 * Invariant: `readUpTo` never falls. A pong without a ping on this connection, or for an answered
 * one, changes nothing.
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
   * To be called just before the ping leaves. Returns its payload, unlike any other in this
   * process.
   */
  sent(moment: Moment): string {
    this.count += 1;
    const payload = `${this.count} ${moment.monotonicMs}`;
    this.unanswered.set(payload, moment);
    dropOldest(this.unanswered, maxUnanswered);
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
