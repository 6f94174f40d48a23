import { type Clock, type Moment, momentOf, type Timer } from '../../runtime/clock.ts';
import type { AccessToken } from '../../venue/tokens.ts';
import type { Frame, StreamProtocol } from '../../venue/venue.ts';
import { Pings } from './pings.ts';
import { type ConnectionEnd, endOfSocket, type Socket, type SocketEnd, type SocketFactory, signed } from './socket.ts';
import type { StreamTimings } from './stream-timings.ts';
import { Window } from './window.ts';

export type SubscribeResult =
  | { readonly kind: 'acknowledged' }
  /** `code` is the platform's: `FORBIDDEN`, `UNKNOWN_TARGET` … */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  | { readonly kind: 'ended' };

interface ConnectionOptions {
  readonly protocol: StreamProtocol;
  readonly url: string;
  readonly token: AccessToken;
  readonly timings: StreamTimings;
}

export type EventFrame = Extract<Frame, { kind: 'event' }> & { readonly accountId: string };
type ControlFrame = Exclude<Frame, { kind: 'event' | 'unreadable' }>;
export type UnreadableFrame = Extract<Frame, { kind: 'unreadable' }>;

export interface ConnectionHandlers {
  onOpen(connection: Connection): void;
  onEvent(frame: EventFrame, text: string, connection: Connection): void;
  onUnreadable(frame: UnreadableFrame, text: string, connection: Connection): void;
  /** A control message: subscribed, unsubscribed, error, heartbeat. */
  onControl(frame: ControlFrame): void;
  /**
   * Messages come, and for `messageMs` no pong of ours: what is
   * known stands still. Called once, at most.
   */
  onPongsMissing(): void;
  onEnd(end: ConnectionEnd, connection: Connection): void;
}

interface Subscription {
  /** Resolves with the platform's answer, or with `ended`. Never rejects. */
  readonly result: Promise<SubscribeResult>;
  /** Resolves if no answer comes within `ackMs`: it is asked again while the connection lives. */
  readonly missed: Promise<void>;
}

interface Pending {
  readonly accountId: string;
  readonly resolve: (result: SubscribeResult) => void;
  readonly miss: () => void;
  /**
   * The ids the platform may still answer, oldest first: any answer puts the subscription in force.
   */
  readonly ids: string[];
  waitMs: number;
  timer: Timer | undefined;
}

const checkEveryMs = 1_000;
/**
 * If a thousand accounts asked at once, most of their
 * acknowledgements would come after the deadline.
 */
const subscriptionsAtOnce = 50;
/** The longest wait for an answer before the same account is asked for again. */
const askAgainMaxMs = 60_000;
const maxIds = 8;

/**
 * One WebSocket for one stream and credential.
 *
 * States: opening → open → ended; `close` from either leads through a goodbye to ended, and frames
 * still count until then. It is open when the socket is, or when the protocol's hello was answered.
 * Invariant: it ends by itself within `idleMs` + 1 s when the transport is dead, within `ackMs`
 * when it answers no hello, or no subscription at all, within `messageMs` and `ackMs` when bytes
 * come but no message, although one was asked for; while we keep it paused none of these clocks
 * runs. `onEnd` is called once, and every subscription gets a result. If one subscription is not
 * answered while others are, only its account is affected, and it is asked again after 5, 10, 20 …
 * 60 s.
 */
export class Connection {
  readonly token: AccessToken;
  private state: 'opening' | 'open' | 'ended' = 'opening';
  private readonly pending = new Set<Pending>();
  private readonly asked = new Map<string, Pending>();
  private readonly subscribing = new Window(subscriptionsAtOnce);
  private readonly socket: Socket;
  private readonly pings: Pings;
  private readonly clock: Clock;
  private readonly options: ConnectionOptions;
  private readonly handlers: ConnectionHandlers;
  private checkTimer: Timer | undefined;
  private cause: ConnectionEnd | undefined;
  private subscriptions = 0;
  /** The accounts whose subscription was acknowledged. */
  private readonly inForce = new Set<string>();
  /** The accounts asked for. */
  private readonly followed = new Set<string>();
  /** The last one that was left: its events may be on their way. */
  private left: string | undefined;
  /** `frameMs` of the silence in which a message was asked for. */
  private askedInSilenceMs: number | undefined;
  private answersSubscriptions = false;
  private paused = false;
  private bytesSeen = 0;
  private byteMs: number;
  private frameMs: number;
  private pingedMs: number;
  /** Of the last pong, or of what began the wait for one. */
  private pongMs: number;
  private saidPongsMissing = false;
  /** The newest error that names no request of ours. */
  private told = '';

  constructor(
    deps: { clock: Clock; openSocket: SocketFactory },
    options: ConnectionOptions,
    handlers: ConnectionHandlers,
  ) {
    this.clock = deps.clock;
    this.options = options;
    this.handlers = handlers;
    this.token = options.token;
    this.pings = new Pings(momentOf(deps.clock));
    this.byteMs = this.frameMs = this.pingedMs = this.pongMs = deps.clock.monotonicMs();
    const { protocol, token, url } = options;
    const ofSocket = {
      onOpen: () => this.greet(),
      onFrame: (text: string) => this.received(text),
      onPong: (payload: string) => this.ponged(payload),
      onEnd: (end: SocketEnd) => this.ended(endOfSocket(end, protocol.closeReasons)),
    };
    const { bearer, headers } = signed(protocol, token.secret, { method: 'GET', url, atMs: deps.clock.nowMs() });
    this.socket = deps.openSocket(url, bearer, ofSocket, headers);
  }

  get isOpen(): boolean {
    return this.state === 'open';
  }

  /** Whatever the peer sent on this connection before this moment has been handed over. */
  get readUpTo(): Moment {
    return this.pings.readUpTo;
  }

  /** At most 50 requests wait for their first answer at a time; the others wait for their turn. */
  subscribe(accountId: string): Subscription {
    const { promise: result, resolve } = Promise.withResolvers<SubscribeResult>();
    const { promise: missed, resolve: miss } = Promise.withResolvers<void>();
    const { ackMs } = this.options.timings;
    const pending: Pending = { accountId, resolve, miss, ids: [], waitMs: ackMs, timer: undefined };
    this.pending.add(pending);
    this.followed.add(accountId);
    void this.subscribing.run(async () => {
      this.ask(pending);
      await Promise.race([result, missed]);
    });
    return { result, missed };
  }

  private ask(pending: Pending): void {
    if (!this.pending.has(pending)) return;
    if (this.state !== 'open') {
      this.settle(pending, { kind: 'ended' });
      return;
    }
    const id = this.nextId();
    this.asked.set(id, pending);
    pending.ids.push(id);
    if (pending.ids.length > maxIds) this.asked.delete(pending.ids.shift() ?? '');
    this.await(pending);
    this.socket.send(this.options.protocol.subscribe(id, pending.accountId));
  }

  /** The account is no longer followed: its later events and this answer have no effect. */
  unsubscribe(accountId: string): void {
    for (const pending of this.pending) if (pending.accountId === accountId) this.settle(pending, { kind: 'ended' });
    this.inForce.delete(accountId);
    this.followed.delete(accountId);
    this.left = accountId;
    if (this.state === 'open') this.socket.send(this.options.protocol.unsubscribe(this.nextId(), accountId));
  }

  pause(): void {
    this.paused = true;
    if (this.state === 'open') this.socket.pause();
  }

  resume(): void {
    this.paused = false;
    // The kernel held bytes back while we were paused: no silence from the peer.
    this.byteMs = this.frameMs = this.pongMs = this.clock.monotonicMs();
    this.socket.resume();
  }

  /** Ends it politely: messages sent before the goodbye are still handed over. */
  close(end: ConnectionEnd): void {
    if (this.state === 'ended') return;
    if (this.state === 'opening') {
      this.terminate(end);
      return;
    }
    this.cause ??= end;
    this.socket.close();
  }

  /** Ends it at once: not one more frame. */
  terminate(end: ConnectionEnd): void {
    if (this.state === 'ended') return;
    this.socket.terminate();
    this.ended(end);
  }

  private greet(): void {
    const { protocol, token, timings } = this.options;
    if (protocol.hello === undefined) {
      this.opened();
      return;
    }
    this.checkTimer = this.clock.after(timings.ackMs, () =>
      this.terminate({
        reason: 'ack_timeout',
        detail: `the sign-in was not answered within ${timings.ackMs} ms${this.told}`,
      }),
    );
    this.socket.send(protocol.hello(token.secret, this.clock.nowMs()));
  }

  private opened(): void {
    if (this.state !== 'opening') return;
    this.state = 'open';
    this.checkTimer?.cancel();
    this.byteMs = this.frameMs = this.pingedMs = this.pongMs = this.clock.monotonicMs();
    if (this.paused) this.socket.pause();
    this.checkTimer = this.clock.after(checkEveryMs, () => this.check());
    this.handlers.onOpen(this);
  }

  private received(text: string): void {
    if (this.state === 'ended') return;
    this.frameMs = this.byteMs = this.clock.monotonicMs();
    const frame = this.options.protocol.read(text);
    if (frame.kind === 'error' && frame.id === undefined) this.told = `; an error came: ${frame.message}`;
    if (this.state === 'opening') this.answered(frame);
    else if (frame.kind === 'event') this.happened(frame, text);
    else if (frame.kind === 'unreadable') this.handlers.onUnreadable(frame, text, this);
    else this.controlled(frame);
  }

  /** Before the venue has answered the hello, nothing else counts. */
  private answered(frame: Frame): void {
    if (frame.kind === 'signed_in') this.opened();
    if (frame.kind === 'ended') this.terminate({ reason: frame.reason, detail: frame.message });
  }

  private happened(frame: Extract<Frame, { kind: 'event' }>, text: string): void {
    const accountId = frame.accountId ?? this.onlyAccount();
    if (accountId !== undefined) {
      const named = frame.accountId === undefined ? { ...frame, accountId } : (frame as EventFrame);
      this.handlers.onEvent(named, text, this);
      return;
    }
    const detail = `it names no account, and the connection has ${this.followed.size}`;
    const fault = { kind: 'unreadable', reason: 'bad_target', detail, stream: frame.stream } as const;
    this.handlers.onUnreadable(fault, text, this);
  }

  private onlyAccount(): string | undefined {
    const [only = this.left, another] = this.followed;
    return another === undefined ? only : undefined;
  }

  private ponged(payload: string): void {
    if (this.state !== 'open') return;
    this.byteMs = this.clock.monotonicMs();
    if (this.pings.answered(payload)) this.pongMs = this.byteMs;
  }

  private controlled(frame: ControlFrame): void {
    if (frame.kind === 'subscribed') {
      for (const id of frame.id === undefined ? [...this.asked.keys()] : [frame.id])
        this.answer(id, { kind: 'acknowledged' });
    }
    if (frame.kind === 'ended') this.terminate({ reason: frame.reason, detail: frame.message });
    // After our own request no account is in force.
    if (frame.kind === 'unsubscribed' && frame.id === undefined && this.inForce.size > 0)
      this.terminate({ reason: 'unsubscribed', detail: 'the venue ended the subscription by itself' });
    if (frame.kind === 'error' && frame.id !== undefined) {
      this.answer(frame.id, { kind: 'refused', code: frame.code, message: frame.message });
    }
    this.handlers.onControl(frame);
  }

  private answer(id: string, result: SubscribeResult): void {
    const pending = this.asked.get(id);
    if (pending === undefined) return;
    this.answersSubscriptions = true;
    if (result.kind === 'acknowledged') this.inForce.add(pending.accountId);
    this.settle(pending, result);
  }

  private settle(pending: Pending, result: SubscribeResult): void {
    this.pending.delete(pending);
    for (const id of pending.ids) this.asked.delete(id);
    pending.timer?.cancel();
    pending.resolve(result);
  }

  private await(pending: Pending): void {
    pending.timer = this.clock.after(pending.waitMs, () => this.notAnswered(pending));
  }

  private notAnswered(pending: Pending): void {
    // The answer may be waiting behind our own pause.
    if (this.paused) this.await(pending);
    else if (!this.answersSubscriptions)
      this.terminate({
        reason: 'ack_timeout',
        detail: `subscribing ${pending.accountId} was not answered, like any other${this.told}`,
      });
    else {
      pending.miss();
      pending.waitMs = Math.min(2 * pending.waitMs, askAgainMaxMs);
      this.ask(pending);
    }
  }

  private check(): void {
    if (this.state !== 'open') return;
    this.checkTimer = this.clock.after(checkEveryMs, () => this.check());
    const nowMs = this.clock.monotonicMs();
    const bytes = this.socket.bytesReceived();
    if (bytes !== this.bytesSeen) {
      this.bytesSeen = bytes;
      this.byteMs = nowMs;
    }
    if (this.paused) return;
    const verdict = this.verdict(nowMs);
    if (verdict !== undefined) {
      this.terminate(verdict);
    } else if (nowMs - this.pingedMs >= this.options.timings.pingMs) {
      this.ping();
      this.lookAtPongs(nowMs);
    }
  }

  private ping(): void {
    const moment = momentOf(this.clock);
    this.pingedMs = moment.monotonicMs;
    this.socket.ping(this.pings.sent(moment));
  }

  private lookAtPongs(nowMs: number): void {
    if (this.saidPongsMissing || nowMs - this.pongMs < this.options.timings.messageMs) return;
    this.saidPongsMissing = true;
    this.handlers.onPongsMissing();
  }

  private verdict(nowMs: number): ConnectionEnd | undefined {
    const { idleMs, messageMs, ackMs } = this.options.timings;
    if (nowMs - this.byteMs >= idleMs) return { reason: 'idle', detail: `no byte for ${idleMs} ms` };
    // Without an account no message is expected.
    if (this.followed.size === 0) this.frameMs = nowMs;
    const silentMs = nowMs - this.frameMs;
    if (silentMs < messageMs || (this.asksForMessage() && silentMs < messageMs + ackMs)) return undefined;
    return { reason: 'no_message', detail: `bytes, but no whole message for ${Math.round(silentMs)} ms` };
  }

  /**
   * The specification names no heartbeat. So a platform may send nothing while nothing happens, but
   * it answers a subscription once more, whatever its answer is.
   */
  private asksForMessage(): boolean {
    const [accountId] = this.inForce;
    if (accountId === undefined) return false;
    if (this.askedInSilenceMs === this.frameMs) return true;
    this.askedInSilenceMs = this.frameMs;
    this.socket.send(this.options.protocol.subscribe(this.nextId(), accountId));
    return true;
  }

  private ended(end: ConnectionEnd): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    this.checkTimer?.cancel();
    for (const pending of this.pending) this.settle(pending, { kind: 'ended' });
    const { reason, detail, goodbye } = end;
    this.handlers.onEnd(
      this.cause === undefined ? { reason, detail } : { ...this.cause, ...(goodbye && { goodbye }) },
      this,
    );
  }

  private nextId(): string {
    this.subscriptions += 1;
    return `sub-${this.subscriptions}`;
  }
}
