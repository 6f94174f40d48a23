import type { Watermark } from '../../../src/domain/observation.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { MemorySocket } from '../world/memory-socket.ts';

interface Frame {
  readonly socket: MemorySocket;
  readonly text: string;
  /** Monotonic time at which the platform sent it. */
  readonly sentMs: number;
}

interface Account {
  /** Sent to the process, and not read by it. */
  underWay: Frame[];
  /** Those whose connection ended before they were read, since the account was last live. */
  dropped: Frame[];
  /** Read on one connection, or not held against the process on any. */
  readonly known: Set<string>;
}

/**
 * What the platform had sent to one process held against what that calls
 * complete: no heartbeat, and no beginning of a gap, covers an event that was
 * sent before and comes after (docs/guarantees.md).
 */
export class InFlightWatch {
  readonly breaches: string[] = [];
  private readonly accounts = new Map<string, Account>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * `text`: the event, also where garbage goes in its place. Returns what to call when the process
   * reads the one or the other.
   */
  sent(socket: MemorySocket, name: string, text: string): () => void {
    const account = this.account(name);
    if (!account.known.has(text)) account.underWay.push({ socket, text, sentMs: this.clock.monotonicMs() });
    return () => this.resolve(account, text);
  }

  /**
   * A connection lost the event, or has it later than the others: it
   * may be known by another way, or not at all.
   */
  excuse(name: string, text: string): void {
    this.resolve(this.account(name), text);
  }

  /**
   * The account is live by a list that began then: it showed what was sent before, on whatever
   * connection that is still under way. A copy that is sent later says nothing new (seed 1220).
   */
  read(name: string, beganMs: number): void {
    const { underWay, dropped, known } = this.account(name);
    for (const { sentMs, text } of [...underWay, ...dropped]) if (sentMs <= beganMs) known.add(text);
    this.account(name).underWay = underWay.filter(({ sentMs }) => sentMs > beganMs);
    this.account(name).dropped = [];
  }

  left(socket: MemorySocket): void {
    for (const account of this.accounts.values()) {
      account.dropped.push(...account.underWay.filter((frame) => frame.socket === socket));
      account.underWay = account.underWay.filter((frame) => frame.socket !== socket);
    }
  }

  mark({ event, stream, accountIds, atMs, fromMs }: Watermark): void {
    const upToMs = event === 'heartbeat' ? atMs : event === 'lost' ? fromMs : undefined;
    for (const accountId of accountIds) {
      const name = `${stream}:${accountId}`;
      const account = this.account(name);
      if (upToMs !== undefined) this.compare(name, event, upToMs, [...account.underWay, ...account.dropped]);
      if (event === 'lost') account.dropped = [];
    }
  }

  /** A term ended: what comes next is read whole. */
  forget(): void {
    for (const account of this.accounts.values()) account.dropped = [];
  }

  private compare(name: string, event: string, upToMs: number, frames: readonly Frame[]): void {
    const { clock } = this;
    // The mark is by the wall clock of the process, which may be set wrong;
    // the platform's sending is by the world's.
    const untilMs = clock.monotonicMs() - (clock.nowMs() - upToMs);
    for (const { sentMs } of frames) {
      if (sentMs > untilMs) continue;
      const lateMs = Math.round(untilMs - sentMs);
      this.breaches.push(`${name}: a ${event} covers an event that was sent ${lateMs} ms before and was not read`);
      return;
    }
  }

  private resolve(account: Account, text: string): void {
    account.known.add(text);
    const isOther = (frame: Frame) => frame.text !== text;
    account.underWay = account.underWay.filter(isOther);
    account.dropped = account.dropped.filter(isOther);
  }

  private account(name: string): Account {
    let account = this.accounts.get(name);
    if (account === undefined) {
      account = { underWay: [], dropped: [], known: new Set() };
      this.accounts.set(name, account);
    }
    return account;
  }
}
