import type { Stream } from '../../domain/order.ts';
import { cautiousWallMs, type Moment, momentOf } from '../../runtime/clock.ts';
import type { AccountRecord } from '../../store/fleet/account-registry.ts';
import { AccountSession, type SessionDeps, type SessionOptions } from './account-session.ts';
import type { Connection, EventFrame } from './connection.ts';
import type { SessionShown } from './session-shown.ts';

/**
 * The accounts on one stream, and the way from an event to its account. Invariant: an event goes to
 * the session it names, or is counted as foreign. Late events for an account we left are neither.
 */
export class AccountRoster {
  readonly sessions = new Map<string, AccountSession>();
  private readonly left = new Set<string>();
  private foreignSeen = false;
  private readonly deps: SessionDeps;
  private readonly options: SessionOptions;

  constructor(deps: SessionDeps, options: SessionOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** The new account's session; undefined when it is followed already. */
  add(record: AccountRecord): AccountSession | undefined {
    if (this.sessions.has(record.accountId)) return undefined;
    const session = new AccountSession(this.deps, this.options, record);
    this.sessions.set(record.accountId, session);
    this.left.delete(record.accountId);
    return session;
  }

  /** False: it was not followed. */
  remove(accountId: string): boolean {
    const session = this.sessions.get(accountId);
    if (session === undefined) return false;
    session.stop();
    this.sessions.delete(accountId);
    this.left.add(accountId);
    return true;
  }

  /** Resolves when every account was answered, or the connection has ended. */
  async attachAll(connection: Connection): Promise<void> {
    await Promise.all([...this.sessions.values()].map((session) => session.attach(connection)));
  }

  /** Subscribes the accounts that were refused and are due to be asked for again. */
  attachDue(connection: Connection): void {
    const nowMs = this.deps.clock.monotonicMs();
    for (const session of this.sessions.values()) if (session.isDueForSubscribe(nowMs)) void session.attach(connection);
  }

  /** `upTo`: what its connection had sent before then was read. */
  route(frame: EventFrame, text: string, upTo: Moment): void {
    const session = this.sessions.get(frame.accountId);
    if (session !== undefined && frame.stream === this.options.stream) {
      session.parts.takeRow(frame.row, text, this.deps.clock.monotonicMs(), upTo);
    } else if (!this.left.has(frame.accountId)) {
      this.foreign(frame);
    }
  }

  /** A frame that does not name its account. */
  frameLost(upTo: Moment): void {
    for (const { parts } of this.sessions.values()) parts.unrecovered.loseAnything(upTo);
  }

  disconnected(state: 'down' | 'login_required', reason: string): void {
    for (const session of this.sessions.values()) session.disconnected(state, reason);
  }

  /** Wall time up to which each live account is complete. */
  completeUpToMs(): Map<string, number> {
    const upToMs = new Map<string, number>();
    // One look at the clocks for all, so accounts with the same moment get the same time, and one
    // mark.
    const now = momentOf(this.deps.clock);
    for (const [accountId, session] of this.sessions) {
      const { completeUpTo } = session;
      if (completeUpTo !== undefined) upToMs.set(accountId, cautiousWallMs(completeUpTo, now));
    }
    return upToMs;
  }

  /** By account: the orders its "complete up to" does not speak for. */
  unreadOrderIds(): Map<string, readonly string[]> {
    const unread = [...this.sessions].map(([id, { parts }]) => [id, parts.unrecovered.unreadOrderIds] as const);
    return new Map(unread.filter(([, orderIds]) => orderIds.length > 0));
  }

  /** Each account as people are shown it. */
  get shown(): SessionShown[] {
    return Array.from(this.sessions.values(), ({ shown }) => shown);
  }

  private foreign({ accountId, stream }: { accountId: string; stream: Stream }): void {
    this.deps.metrics.frames.inc({ source: this.options.stream, type: 'foreign' });
    if (this.foreignSeen) return;
    this.foreignSeen = true;
    this.deps.log.error(
      { stream, accountId },
      'an event of an account that we did not subscribe; dropped, counted from now on',
    );
  }
}
