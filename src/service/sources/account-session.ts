import { parseInstant } from '../../domain/instant.ts';
import type { Stream } from '../../domain/order.ts';
import { traits } from '../../domain/streams.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { cautiousWallMs, type Moment, momentOf } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import { repeat } from '../../runtime/waiting.ts';
import type { AccountRecord } from '../../store/fleet/account-registry.ts';
import type { PlatformError } from '../../venue/platform-error.ts';
import { type AccountAccess, concernsWholeAccount, restAskedMs } from './account-access.ts';
import { AccountLooks } from './account-looks.ts';
import { AccountParts, type AccountPartsDeps } from './account-parts.ts';
import type { Connection, SubscribeResult } from './connection.ts';
import { Cover } from './cover.ts';
import type { AccountReadResult } from './read-progress.ts';
import { SessionShown } from './session-shown.ts';
import { isCovered, type SessionEvent, type SessionState, sessionTransition } from './session-states.ts';
import type { ConnectionEnd } from './socket.ts';
import type { StreamTimings } from './stream-timings.ts';
import { Watermarks } from './watermarks.ts';

export interface SessionDeps extends AccountPartsDeps {
  readonly random: Random;
}

export interface SessionOptions {
  readonly stream: Stream;
  readonly timings: StreamTimings;
  /**
   * The account's orders may no longer be compared with the rows of the
   * open connections: close them, open another.
   */
  readonly onStoreLost: (session: AccountSession) => void;
}

const unansweredText = 'the platform does not answer the subscription of this account; it is asked again';

/** A complete read that should make the account live. */
interface WholeRead {
  /** `Unrecovered.mark` at its beginning: frames lost since may not be in it. */
  readonly mark: number;
  /** It shows what was before, and what came after is on the stream. */
  readonly began: Moment;
  readonly rows: number;
}

/** A session's state, with what belongs to it. */
interface Situation {
  readonly name: SessionState;
  /** In the covered states, and only there. */
  readonly cover?: Cover | undefined;
  /** In `unproven`. */
  readonly read?: WholeRead | undefined;
}

/** What comes with an event. */
interface Circumstances extends Omit<Situation, 'name'> {
  /** Why the cover ends where it does, for consumers. Left out: the event's own name. */
  readonly gap?: string | undefined;
  /** For people: the newest error. */
  readonly error?: string;
}

/**
 * One account on one stream: from the subscription to live, and back when its connection ends.
 * `session-states.ts` has its states and events, their table and its invariants; `go` is the only
 * line to change the state. `AccountParts` takes its rows, and `SessionShown` is for people. Apart
 * from the state are its unanswered subscriptions.
 */
export class AccountSession {
  readonly accountId: string;
  /** For the rooms that send commands and resolve them. */
  readonly access: AccountAccess;
  /** For people. Nothing is decided by it. */
  readonly shown: SessionShown;
  /** Whether the account is simulated: the platform's newest word. */
  private isSim: boolean;
  private state: Situation = { name: 'connecting' };
  /** The subscriptions that the platform has not answered yet, and whether they are late. */
  private readonly asked = new Map<Connection, 'asked' | 'late'>();
  /** Monotonic time before which the account is not asked for again. */
  private retryAtMs = Number.NEGATIVE_INFINITY;
  private readonly life = new AbortController();
  /** Takes the rows of its events, and knows which frames were lost. */
  readonly parts: AccountParts;
  private readonly watermarks: Watermarks;
  private readonly deps: SessionDeps;
  private readonly options: SessionOptions;

  constructor(deps: SessionDeps, options: SessionOptions, record: AccountRecord) {
    const { stream } = options;
    const { accountId, readUpTo } = record;
    this.deps = deps;
    this.options = options;
    this.accountId = accountId;
    this.isSim = record.isSim;
    const nowMs = deps.clock.nowMs();
    // By the platform's clock, perhaps ahead of ours.
    const readUpToMs = readUpTo === undefined ? undefined : Number((parseInstant(readUpTo) ?? 0n) / 1_000_000n);
    const knownUpToMs = readUpToMs === undefined ? undefined : Math.min(readUpToMs, nowMs);
    const { signal } = this.life;
    const isLive = () => this.state.name === 'live';
    const onGap = () => this.readAgain('unknown_gap');
    const onStoreLost = (waitMs: number) => this.storeLost(waitMs);
    const parts = new AccountParts(deps, { ...options, signal, isLive, onGap, onStoreLost }, record);
    this.parts = parts;
    this.shown = new SessionShown({ ...deps, parts }, { stream, accountId });
    this.watermarks = new Watermarks(deps, { stream, accountId, knownUpToMs });
    const standing = () => ({
      live: isLive(),
      // A lost store is shown by the state: its orders report it for as long as they live.
      certain: !this.isFrozen && parts.isCertain,
      isSim: this.isSim,
      notEnrolled: this.state.name === 'not_enrolled',
    });
    this.access = new AccountLooks({ ...deps, ...parts }, { stream, accountId, signal, standing });
  }

  /**
   * What the platform calls the account now. It counts at once: a real one must not be
   * traded as a simulated one until the database answers. A save that failed is made with
   * the next list.
   */
  noteSimulated(isSim: boolean): void {
    if (isSim !== this.isSim)
      this.deps.log.warn(
        this.about({ isSim }),
        `the platform calls the account ${isSim ? 'simulated' : 'real'} now, and did not before`,
      );
    this.isSim = isSim;
    if (this.parts.reader.record.isSim === isSim) return;
    const asNow = (record: AccountRecord) => (record.isSim === this.isSim ? record : { ...record, isSim: this.isSim });
    this.parts.reader
      .save(asNow)
      .catch((err: unknown) => this.deps.log.warn(this.about({ err }), 'whether the account is simulated is not kept'));
  }

  /**
   * Subscribes on the connection, unless the account was refused lately. Resolves when the platform
   * has answered or is late, or the connection has ended.
   */
  async attach(connection: Connection): Promise<void> {
    const isDue = this.deps.clock.monotonicMs() >= this.retryAtMs;
    const { name, cover } = this.state;
    if (name === 'stopped' || !isDue || this.asked.has(connection) || cover?.connection === connection) return;
    this.asked.set(connection, 'asked');
    const { result, missed } = connection.subscribe(this.accountId);
    const answered = result.then((answer) => {
      this.asked.delete(connection);
      this.answered(answer, connection);
    });
    await Promise.race([answered, missed.then(() => this.notAnswered(connection))]);
  }

  /**
   * Whether to subscribe the account again on the present connection: it was refused long enough
   * ago, or the connection that was to replace this one ended.
   */
  isDueForSubscribe(nowMs: number): boolean {
    return this.state.cover === undefined && this.asked.size === 0 && nowMs >= this.retryAtMs;
  }

  /**
   * It is asked again for as long as the connection lives; the connection's other accounts are not
   * affected.
   */
  private notAnswered(connection: Connection): void {
    if (this.state.name === 'stopped' || !connection.isOpen) return;
    this.asked.set(connection, 'late');
    this.deps.log.warn(this.about({}), 'a subscription is not answered');
    this.go('unanswered', { error: unansweredText });
  }

  private answered(result: SubscribeResult, connection: Connection): void {
    // Answer and end may come in one piece: then `ended` ran before we got here.
    if (this.state.name === 'stopped' || result.kind === 'ended' || !connection.isOpen) return;
    const { cover } = this.state;
    // The newer connection was quicker, and the older one is about to be closed.
    if (cover !== undefined && cover.connection.token.generation > connection.token.generation) return;
    if (result.kind === 'refused') {
      // Any other code says nothing of the account's rights.
      const status = result.code === 'FORBIDDEN' ? 403 : 400;
      this.refused({ code: result.code, message: result.message, status, retryable: false, sent: 'yes' });
    } else if (cover !== undefined && !this.parts.storeLost.active) {
      cover.takeOver(connection);
    } else {
      this.parts.storeLost.forgetHeld();
      this.begin(new Cover(connection));
    }
  }

  ended(connection: Connection, end: ConnectionEnd): void {
    const { cover } = this.state;
    if (cover?.hasReplaced(connection)) this.replacedEnded(connection, end);
    if (connection !== cover?.connection) return;
    if ([...this.asked.values()].includes('late'))
      this.go('cover_ended_unanswered', { gap: end.reason, error: unansweredText });
    else this.go('cover_ended', { gap: end.reason, error: end.detail });
  }

  /** There is no connection, and the attempt at one failed. */
  disconnected(state: 'down' | 'login_required', reason: string): void {
    this.go(state === 'down' ? 'no_connection' : 'no_login', { error: reason });
  }

  /** Up to here the account is complete; undefined while it is not live. */
  get completeUpTo(): Moment | undefined {
    const { name, cover } = this.state;
    return name === 'live' && cover !== undefined ? this.provenUpTo(cover) : undefined;
  }

  stop(): void {
    this.go('stopped', { gap: 'stopped' });
    this.life.abort();
  }

  /** A read begins that should make the account live. `gap`: why the last one does no longer. */
  private begin(cover: Cover, gap?: string): void {
    const event = this.parts.storeLost.active ? 'recovery_begins' : 'read_begins';
    if (this.go(event, { cover, gap })) void this.resync(cover);
  }

  private async resync(cover: Cover): Promise<void> {
    const { clock, random, metrics } = this.deps;
    const { signal } = cover;
    const backoff = new Backoff(random, { firstMs: 500, maxMs: 30_000 });
    const startedMs = clock.monotonicMs();
    while (!signal.aborted) {
      // All frames in one burst come before the read, so none is a reason for another read.
      await clock.turn();
      if (signal.aborted) return;
      const { mark } = this.parts.unrecovered;
      const began = momentOf(clock);
      const result = this.parts.storeLost.active
        ? await this.recover(signal)
        : await this.parts.reader.read('resync', signal);
      if (signal.aborted) return;
      // Frames lost since the read began may not be in it.
      if (result.complete && !this.parts.unrecovered.since(mark)) {
        this.shown.happened('lastResyncMs');
        metrics.resyncSeconds.observe({ source: this.options.stream }, (clock.monotonicMs() - startedMs) / 1000);
        this.go('read', { read: { mark, began, rows: result.rows } });
        this.judgeRead();
        return;
      }
      // A refused token is another thing than the login: no person has to act for it.
      if (!result.complete && concernsWholeAccount(result.error) && result.error.status !== 401) {
        cover.connection.unsubscribe(this.accountId);
        this.refused(result.error);
        return;
      }
      this.shown.failed(result.complete ? 'frames were lost while the account was read' : result.error.message);
      const askedMs = result.complete ? 0 : restAskedMs(result.error);
      await clock.sleep(Math.max(backoff.nextMs(), askedMs), signal);
    }
  }

  private async recover(signal: AbortSignal): Promise<AccountReadResult> {
    const result = await this.parts.storeLost.recover(signal);
    if (!result.complete || signal.aborted) return result;
    const { sourceEpoch } = this.parts.intake;
    this.deps.log.warn(
      this.about({ sourceEpoch, rows: result.rows }),
      'the platform lost its store: read whole under a new source epoch',
    );
    for (const held of result.frames ?? []) this.parts.takeRow(held.row, held.text, held.receivedMs, held.upTo);
    return result.resync === true ? this.parts.reader.read('resync', signal) : result;
  }

  /**
   * Rows missed while the connection was dead unnoticed are in no
   * later frame: the account is read again.
   */
  private replacedEnded(connection: Connection, { goodbye }: ConnectionEnd): void {
    if (!goodbye) this.readAgain('replaced_unproven');
    this.state.cover?.replacedEnded(connection, goodbye === true);
    this.judgeRead();
  }

  /** A complete read counts once every connection that was replaced has proven its part. */
  private judgeRead(): void {
    const { cover, read } = this.state;
    if (cover === undefined || read === undefined || !cover.isProven) return;
    if (this.parts.unrecovered.since(read.mark)) this.begin(cover);
    else this.becomeLive(cover, read);
  }

  /** Up to here nothing can be missing; never past a loss that was not recovered. */
  private provenUpTo(cover: Cover): Moment {
    return this.parts.unrecovered.before(cover.upTo);
  }

  private becomeLive({ signal }: Cover, { began, rows }: WholeRead): void {
    this.go('proven');
    const upToMs = cautiousWallMs(this.parts.unrecovered.before(began), momentOf(this.deps.clock));
    this.watermarks.live(upToMs, this.parts.reader.repairs.take(rows));
    const { auditMs } = this.options.timings;
    void repeat(
      this.deps.clock,
      () => auditMs * (5 / 6 + this.deps.random.next() / 3),
      () => this.audit(signal),
      signal,
    );
  }

  private async audit(signal: AbortSignal): Promise<void> {
    const result = await this.parts.audit.run(signal);
    if (signal.aborted) return;
    if (result.complete) {
      this.shown.happened('lastAuditMs');
      return;
    }
    this.shown.failed(`audit: ${result.error.message}`);
    if (!concernsWholeAccount(result.error)) return;
    // The account may have left the beta, or the login the account: the platform also shows this by
    // refusing the subscription. If it does not, this is one resync.
    this.go('audit_denied', { gap: 'denied', error: result.error.message });
  }

  private storeLost(waitMs: number): void {
    if (!this.go('store_lost', { gap: 'store_lost', error: 'the platform lost its store' })) return;
    this.retryAtMs = this.deps.clock.monotonicMs() + waitMs;
    // Not from within its frame: closing the connection while it delivers would reorder the frames
    // behind it.
    const { signal } = this.life;
    void this.deps.clock.sleep(waitMs, signal).then(() => signal.aborted || this.options.onStoreLost(this));
  }

  /** The connections stay; their rows since the last pong may be incomplete. */
  private readAgain(gap: string): void {
    const { cover } = this.state;
    if (cover !== undefined) this.begin(cover.anew(), gap);
  }

  private get isFrozen(): boolean {
    const { name } = this.state;
    return name === 'frozen' || name === 'recovering' || this.parts.storeLost.active;
  }

  private refused(error: PlatformError): void {
    const { notEnrolledMs, refusedMs } = this.options.timings;
    const notEnrolled = traits[this.options.stream].enrolls && error.status === 403;
    const waitMs = notEnrolled ? notEnrolledMs : refusedMs;
    this.retryAtMs = this.deps.clock.monotonicMs() + waitMs;
    this.go(notEnrolled ? 'refused_not_enrolled' : 'refused', {
      gap: 'refused',
      error: `${error.code ?? error.status ?? ''}: ${error.message}`,
    });
  }

  /**
   * Changes the state, and does what every change asks for: see the table's invariants. False: the
   * event changes nothing.
   */
  private go(event: SessionEvent, { cover, read, gap = event, error }: Circumstances = {}): boolean {
    const { name: from, cover: before } = this.state;
    const to = sessionTransition(from, event);
    if (to === 'impossible') this.deps.log.error(this.about({ state: from, event }), 'an event came in a wrong state');
    if (to === 'ignored' || to === 'impossible') return false;
    const next = isCovered(to) ? (cover ?? before) : undefined;
    if (before !== undefined && before !== next) this.leave(before, gap);
    this.state = { name: to, cover: next, read };
    this.shown.entered(to, error);
    return true;
  }

  private leave(cover: Cover, gap: string): void {
    const upToMs = cautiousWallMs(this.provenUpTo(cover), momentOf(this.deps.clock));
    cover.end();
    if (this.watermarks.lost(upToMs, gap)) this.deps.metrics.gaps.inc({ source: this.options.stream });
  }

  private about(more: object): object {
    return { stream: this.options.stream, accountId: this.accountId, ...more };
  }
}
