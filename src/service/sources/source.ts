import type { Stream } from '../../domain/order.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { repeat, Wakeup } from '../../runtime/waiting.ts';
import type { AccountRecord } from '../../store/fleet/account-registry.ts';
import type { AccessToken, TokenSource } from '../../venue/tokens.ts';
import { streamOf } from '../../venue/venue.ts';
import type { AccountAccess } from './account-access.ts';
import { AccountRoster } from './account-roster.ts';
import type { AccountSession, SessionDeps, SessionOptions } from './account-session.ts';
import { Connection, type ConnectionHandlers, type EventFrame, type UnreadableFrame } from './connection.ts';
import { cutRaw } from './decode-order.ts';
import { OddMessages } from './odd-messages.ts';
import type { ConnectionEnd, SocketFactory } from './socket.ts';
import { type ConnectionReading, type SourceGauges, SourceMeter, type SourceStatus } from './source-status.ts';
import { heartbeats } from './watermarks.ts';

export interface SourceDeps extends SessionDeps {
  readonly openSocket: SocketFactory;
  readonly tokens: TokenSource;
  /** Shared with the sources of other credentials. Left out: there are none. */
  readonly gauges?: SourceGauges;
  /** Shared in the same way. */
  readonly odd?: OddMessages;
}

interface SourceOptions extends Omit<SessionOptions, 'onStoreLost'> {
  /** The stream's whole address. */
  readonly url: string;
}

/**
 * A connection that lived this long was a good one: the next
 * failure starts the backoff from its beginning.
 */
const steadyMs = 30_000;
const refreshEveryMs = 1_000;
/** The time between two attempts to move to a newer token; the old one still works. */
const replaceRestMs = 10_000;
/**
 * A connection opened for one account's lost store also serves
 * the others that notice the loss later.
 */
const storeLostMs = 60_000;
const pongsMissingText =
  'messages come, and none of our pings is answered by a pong with its payload: "complete up to" stands still on this connection';
/** Messages of a kind that we do not know; the second brings an order's id. */
const [noOrder, anotherEvent] = ['unknown_message', 'unknown_event'];

/**
 * One stream (account or prediction orders) of one credential: a connection, the accounts on it,
 * and the next connection if there is none or the token changes.
 *
 * States: idle → connecting → connected → connecting (it ended; full-jitter backoff) … → stopped.
 * While connected and the token was renewed, a second connection is opened and subscribed whole
 * before the first is closed (make before break).
 * Invariant: every frame of every open connection goes to its account's session or is counted;
 * while the sink is full all connections are paused.
 */
export class Source {
  private readonly connections = new Set<Connection>();
  private current: Connection | undefined;
  private next: Connection | undefined;
  private newestToken: AccessToken | undefined;
  private replaceAtMs = Number.NEGATIVE_INFINITY;
  private currentEnded: ((ended: { readonly end: ConnectionEnd; readonly generation: number }) => void) | undefined;
  private lastEnd: SourceStatus['lastEnd'];
  private storeLostAtMs = Number.NEGATIVE_INFINITY;
  /** Since when (monotonic), as far as the meter has not counted it. Undefined: not paused. */
  private pausedSinceMs: number | undefined;
  /** A connection is wanted although no account is followed. */
  private idleWanted = false;
  private running: Promise<void> = Promise.resolve();
  private readonly life = new AbortController();
  private readonly wakeup = new Wakeup();
  private readonly meter: SourceMeter;
  private readonly roster: AccountRoster;
  private readonly odd: OddMessages;
  private readonly leave: (() => void)[] = [];
  private readonly deps: SourceDeps;
  private readonly options: SourceOptions;

  constructor(deps: SourceDeps, options: SourceOptions) {
    this.deps = deps;
    this.options = options;
    this.meter = new SourceMeter(options.stream, deps.metrics, deps.gauges);
    this.odd = deps.odd ?? new OddMessages();
    this.roster = new AccountRoster(deps, { ...options, onStoreLost: (session) => this.storeLost(session) });
  }

  get stream(): Stream {
    return this.options.stream;
  }

  /** By account. */
  get followed(): ReadonlyMap<string, unknown> {
    return this.roster.sessions;
  }

  start(): void {
    this.leave.push(this.deps.sink.onRoom(() => this.unpause()));
    this.leave.push(this.deps.tokens.onRenewed((token) => this.replace(token)));
    const { clock } = this.deps;
    const { signal } = this.life;
    void repeat(
      clock,
      () => refreshEveryMs,
      async () => this.refresh(),
      signal,
    );
    void repeat(
      clock,
      () => this.options.timings.heartbeatMs,
      () => this.beat(),
      signal,
    );
    this.running = this.run();
  }

  /** Closes everything; resolves when no work of the source runs any more. */
  async stop(): Promise<void> {
    this.life.abort();
    for (const leave of this.leave) leave();
    for (const session of this.roster.sessions.values()) session.stop();
    for (const connection of [...this.connections])
      connection.terminate({ reason: 'stopped', detail: 'the service stops' });
    this.wakeup.wake();
    await this.running;
    this.meter.stop();
  }

  follow(record: AccountRecord): void {
    if (this.life.signal.aborted) return;
    const session = this.roster.add(record);
    if (session === undefined) return;
    for (const connection of this.connections) if (connection.isOpen) void session.attach(connection);
    this.wakeup.wake();
  }

  unfollow(accountId: string): void {
    if (!this.roster.remove(accountId)) return;
    for (const connection of this.connections) connection.unsubscribe(accountId);
  }

  noteSimulated(accountId: string, isSim: boolean): void {
    this.roster.sessions.get(accountId)?.noteSimulated(isSim);
  }

  /** The account as other rooms may use it; undefined when it is not followed. */
  account(accountId: string): AccountAccess | undefined {
    return this.roster.sessions.get(accountId)?.access;
  }

  /**
   * Opens a connection although no account is followed. It stays
   * open as long as the platform leaves it open.
   */
  openIdle(): void {
    if (this.current !== undefined || this.idleWanted) return;
    this.idleWanted = true;
    this.wakeup.wake();
  }

  connection(): ConnectionReading {
    return { connected: this.current?.isOpen ?? false, accounts: this.followed.size };
  }

  status(): SourceStatus {
    const { lastFrameMs, lastEventMs } = this.meter;
    return {
      stream: this.options.stream,
      connected: this.current?.isOpen ?? false,
      paused: this.pausedSinceMs !== undefined,
      ...(lastFrameMs > 0 && { lastFrameMs }),
      ...(lastEventMs > 0 && { lastEventMs }),
      ...(this.lastEnd !== undefined && { lastEnd: this.lastEnd }),
      accounts: this.roster.shown.map((shown) => shown.status()),
    };
  }

  private async run(): Promise<void> {
    const { clock, random } = this.deps;
    const { signal } = this.life;
    const backoff = new Backoff(random, { firstMs: 250, maxMs: this.options.timings.reconnectMaxMs });
    while (!signal.aborted) {
      if (this.followed.size === 0 && !this.idleWanted) {
        await this.wakeup.wait();
        continue;
      }
      this.idleWanted = false;
      const startedMs = clock.monotonicMs();
      const reason = await this.connectOnce();
      if (signal.aborted) return;
      if (clock.monotonicMs() - startedMs >= steadyMs) backoff.reset();
      // We closed it to open it again: this is not a failure of the platform.
      if (reason === 'store_lost') continue;
      await clock.sleep(backoff.nextMs(), signal);
    }
  }

  /**
   * One connection from opening to its end. Returns why it ended, or
   * undefined if there was no token for one.
   */
  private async connectOnce(): Promise<ConnectionEnd['reason'] | undefined> {
    const credential = await this.deps.tokens.get(this.options.url);
    if (this.life.signal.aborted) return undefined;
    if (!credential.ok) {
      const { code, message } = credential.error;
      this.roster.disconnected(code === 'LOGIN_REQUIRED' ? 'login_required' : 'down', message);
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<{ end: ConnectionEnd; generation: number }>();
    this.currentEnded = resolve;
    // The connection that was to replace the last one may have opened while there was none: then it
    // is the current one already.
    this.current ??= this.open(credential.token, (connection) => void this.roster.attachAll(connection));
    const { end, generation } = await promise;
    if (this.life.signal.aborted || end.reason === 'store_lost') return end.reason;
    if (end.reason === 'unauthorized') await this.deps.tokens.renew(generation, this.options.url);
    this.roster.disconnected(end.reason === 'forbidden' ? 'login_required' : 'down', end.detail);
    return end.reason;
  }

  private open(token: AccessToken, onOpen: ConnectionHandlers['onOpen']): Connection {
    const { stream, url, timings } = this.options;
    const { protocol } = streamOf(this.deps.venue, stream);
    const connection = new Connection(
      this.deps,
      { protocol, url, token, timings },
      {
        onOpen: (opened) => {
          this.deps.tokens.taken(token.generation, url);
          onOpen(opened);
        },
        onEvent: (frame, text, from) => this.event(frame, text, from),
        onUnreadable: (frame, text, from) => this.unreadable(frame, text, from),
        onControl: () => this.meter.frame('control', this.deps.clock.nowMs()),
        onPongsMissing: () => this.deps.log.warn({ stream }, pongsMissingText),
        onEnd: (end, ended) => this.ended(end, ended),
      },
    );
    this.connections.add(connection);
    if (this.pausedSinceMs !== undefined) connection.pause();
    return connection;
  }

  /**
   * Make before break: the new connection is subscribed whole before the old one is closed with a
   * goodbye, and until then both deliver.
   */
  private replace(token: AccessToken): void {
    this.newestToken = token;
    if (this.current?.isOpen !== true || this.next !== undefined || this.current.token.generation >= token.generation)
      return;
    this.replaceAtMs = this.deps.clock.monotonicMs() + replaceRestMs;
    this.next = this.open(token, (connection) => void this.takeOver(connection));
  }

  private async takeOver(connection: Connection): Promise<void> {
    await this.roster.attachAll(connection);
    const old = this.current;
    if (this.next !== connection || !connection.isOpen) return;
    this.next = undefined;
    this.current = connection;
    old?.close({ reason: 'replaced', detail: 'a connection with a newer token took over' });
  }

  private ended(end: ConnectionEnd, connection: Connection): void {
    this.connections.delete(connection);
    this.deps.metrics.reconnects.inc({ source: this.options.stream, reason: end.reason });
    for (const session of this.roster.sessions.values()) session.ended(connection, end);
    const level = end.reason === 'replaced' || end.reason === 'stopped' ? 'debug' : 'warn';
    this.deps.log[level]({ stream: this.options.stream, ...end }, 'stream connection ended');
    if (connection === this.next) this.next = undefined;
    if (connection !== this.current) {
      if (end.reason === 'unauthorized') this.refusedBefore(connection.token);
      return;
    }
    this.lastEnd = { atMs: this.deps.clock.nowMs(), reason: end.reason, detail: end.detail };
    // The connection that was to replace this one takes its place: no other has to be opened.
    const { next } = this;
    if (next?.isOpen === true) {
      this.current = next;
      this.next = undefined;
      return;
    }
    this.current = undefined;
    this.currentEnded?.({ end, generation: connection.token.generation });
  }

  /** A connection to replace the present one: it is not opened again with this token. */
  private refusedBefore({ generation }: AccessToken): void {
    if (this.newestToken?.generation === generation) this.newestToken = undefined;
    void this.deps.tokens.renew(generation, this.options.url);
  }

  private event(frame: EventFrame, text: string, connection: Connection): void {
    const { clock, sink } = this.deps;
    this.meter.frame('event', clock.nowMs());
    this.roster.route(frame, text, connection.readUpTo);
    if (sink.full) this.pause();
  }

  private unreadable(frame: UnreadableFrame, text: string, connection: Connection): void {
    const { clock, metrics, sink, record } = this.deps;
    const { stream } = this.options;
    const { reason, detail } = frame;
    const observedAtMs = clock.nowMs();
    record?.({ stream, cause: 'stream', observedAtMs, text });
    metrics.decodeFailures.inc({ source: stream, reason });
    const isLeft = reason === noOrder && !this.odd.isDue(detail, clock.monotonicMs());
    this.meter.frame(isLeft ? 'control' : 'unreadable', observedAtMs);
    if (isLeft) return;
    if (reason !== noOrder && reason !== anotherEvent) this.roster.frameLost(connection.readUpTo);
    sink.offer({
      kind: 'unreadable',
      cause: 'stream',
      stream,
      reason,
      detail,
      raw: cutRaw(text),
      observedAtMs,
      bytes: text.length,
    });
    if (sink.full) this.pause();
  }

  private pause(): void {
    if (this.pausedSinceMs !== undefined) return;
    this.pausedSinceMs = this.deps.clock.monotonicMs();
    for (const connection of this.connections) connection.pause();
  }

  private unpause(): void {
    if (this.pausedSinceMs === undefined) return;
    this.countPause();
    this.pausedSinceMs = undefined;
    for (const connection of this.connections) connection.resume();
  }

  private countPause(): void {
    if (this.pausedSinceMs === undefined) return;
    const nowMs = this.deps.clock.monotonicMs();
    this.meter.paused(this.pausedSinceMs, nowMs);
    this.pausedSinceMs = nowMs;
  }

  private storeLost(session: AccountSession): void {
    const nowMs = this.deps.clock.monotonicMs();
    if (nowMs - this.storeLostAtMs < storeLostMs && this.current?.isOpen === true) {
      void session.attach(this.current);
      return;
    }
    this.storeLostAtMs = nowMs;
    for (const connection of [...this.connections])
      connection.terminate({ reason: 'store_lost', detail: 'the platform lost its store' });
  }

  /**
   * The next heartbeat follows the commit of this one: while the
   * database is away, only one waits in the queue.
   */
  private async beat(): Promise<void> {
    const { sink, random } = this.deps;
    const before = this.roster.completeUpToMs();
    if (before.size === 0) return;
    try {
      // Only then are the dead letters before it known.
      await sink.committed();
      const now = this.roster.completeUpToMs();
      const upToMs = new Map<string, number>();
      for (const [accountId, atMs] of before) {
        const nowMs = now.get(accountId);
        if (nowMs !== undefined) upToMs.set(accountId, Math.min(atMs, nowMs));
      }
      for (const mark of heartbeats(this.stream, upToMs, random, this.roster.unreadOrderIds())) sink.offer(mark);
      await sink.committed();
    } catch {
      // The lane is lost: its next holder writes marks of its own.
    }
  }

  /**
   * Once a second: metrics, accounts that are due to be asked for again, a newer token whose
   * connection could not be opened the first time.
   */
  private refresh(): void {
    this.countPause();
    if (this.current?.isOpen === true) this.meter.ponged(this.current.readUpTo.wallMs);
    this.meter.flush(this.roster.shown.map((shown) => shown.reading()));
    if (this.current?.isOpen !== true) return;
    this.roster.attachDue(this.current);
    if (this.newestToken !== undefined && this.deps.clock.monotonicMs() >= this.replaceAtMs)
      this.replace(this.newestToken);
  }
}
