import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { type StreamTopic, streamCloseCodes } from '../../venue/platform/wire/stream-messages.ts';
import type { Principal } from '../auth/directory.ts';
import { instantText } from '../exchange/wire-text.ts';
import type { CutWay } from '../faults/fault-shapes.ts';
import { rawFrame } from './client-message.ts';

/** Where venues differ on a connection. */
export interface SessionManner {
  /** 1 for frames with text, 2 for binary ones. */
  readonly opcode: 1 | 2;
  /** Undefined: it sends only pings. */
  readonly heartbeat: ((now: string) => object) | undefined;
  /** Undefined: it ends the connection without a word. */
  readonly slowConsumer: ((now: string) => object) | undefined;
}

export interface SessionOptions {
  readonly heartbeatMs: number;
  /** The most bytes that may wait in the socket for a reader that does not read. */
  readonly maxBacklogBytes: number;
  /** Between a close frame and the cut, if the other side does not answer. */
  readonly closeGraceMs: number;
}

interface SessionDeps {
  readonly clock: Clock;
  readonly ws: WebSocket;
  /**
   * The socket below `ws`: its writes are gathered, and faults need bytes that no library would
   * send.
   */
  readonly socket: Socket;
  readonly principal: Principal;
  readonly manner: SessionManner;
  readonly onClosed: (session: StreamSession) => void;
}

const longestTimerMs = 2 ** 31 - 1;
/** A half-open connection is cut after so many heartbeats, and not before a reader notices it. */
const halfOpenBeats = 10;
const shortestHalfOpenMs = 60_000;

/**
 * One connection to the order stream.
 *
 * States: open → (half-open: neither reads nor writes) → closed. Invariant: frames leave in the
 * order of the calls; nothing leaves after `close`, `cut` or `halfOpen`. A token that ends takes
 * the connection with it (4401; a half-open one is cut), and so does a reader that lets more than
 * `maxBacklogBytes` gather (4429). Half open lasts ten heartbeats or a minute
 * at most: the longer of the two.
 */
export class StreamSession {
  readonly number: number;
  readonly principal: Principal;
  /** The accounts that it follows: `<topic> <account>`. */
  readonly targets = new Map<string, { readonly topic: StreamTopic; readonly accountId: string }>();
  private state: 'open' | 'half_open' | 'closed' = 'open';
  private corked = false;
  private heardPong = true;
  private readonly timers = new Set<Timer>();
  private readonly frame: { readonly binary: boolean };
  private readonly deps: SessionDeps;
  private readonly options: SessionOptions;

  constructor(number: number, deps: SessionDeps, options: SessionOptions) {
    this.number = number;
    this.principal = deps.principal;
    this.frame = { binary: deps.manner.opcode === 2 };
    this.deps = deps;
    this.options = options;
    deps.ws.on('close', () => this.finish());
    deps.ws.on('error', () => {});
    deps.ws.on('pong', () => {
      this.heardPong = true;
    });
    this.later(options.heartbeatMs, () => this.beat());
    const lifetimeMs = this.principal.expiresAtMs - deps.clock.nowMs();
    if (Number.isFinite(lifetimeMs))
      this.later(Math.min(lifetimeMs, longestTimerMs), () => this.endWithToken('token expired'));
  }

  get open(): boolean {
    return this.state === 'open';
  }

  get opcode(): 1 | 2 {
    return this.deps.manner.opcode;
  }

  /** Bytes written but not yet taken by the reader's side. */
  get backlogBytes(): number {
    return this.deps.socket.writableLength;
  }

  /**
   * An event. Events from one market slice leave in one write, at its end: 1.4 µs of processor time
   * each instead of 5. (Framing them here, into one buffer, saves another 0.3 µs: not worth a
   * second implementation of the protocol.)
   */
  sendEvent(text: string): void {
    if (this.state !== 'open') return;
    if (!this.corked) {
      this.corked = true;
      this.deps.socket.cork();
      queueMicrotask(() => this.uncork());
    }
    this.deps.ws.send(text, this.frame);
  }

  /** Any other message, behind the events before it. */
  sendMessage(message: object): void {
    if (this.state !== 'open') return;
    this.deps.ws.send(JSON.stringify(message), this.frame);
  }

  /** Bytes as they are, for faults. */
  sendRaw(bytes: Buffer): void {
    if (this.state !== 'open') return;
    this.deps.socket.write(bytes);
  }

  now(): string {
    return instantText(this.deps.clock.nowMs() * 1000);
  }

  /** Ends the connection with a close frame; cuts it when the other side doesn't answer. */
  close(code: number, reason: string): void {
    if (this.state !== 'open') return;
    this.state = 'closed';
    this.deps.ws.close(code, reason);
    this.later(this.options.closeGraceMs, () => this.deps.ws.terminate());
  }

  /** Its token is good no more. A half-open connection can say no goodbye, and is cut. */
  endWithToken(reason: string): void {
    if (this.isHalfOpen) this.cut('rst');
    else this.close(streamCloseCodes.unauthorized, reason);
  }

  /** Ends it without a close frame. */
  cut(how: CutWay): void {
    if (this.state === 'closed') return;
    this.uncork();
    this.state = 'closed';
    if (how === 'rst') this.deps.socket.resetAndDestroy();
    else if (how === 'fin') this.deps.socket.destroySoon();
    else {
      // Promises 900 bytes and sends 100.
      const torn = rawFrame(this.opcode, Buffer.alloc(900, '{"type":"event","payload":'));
      this.deps.socket.write(torn.subarray(0, 104));
      this.deps.socket.destroySoon();
    }
  }

  /** Stops reading and writing; the connection stays up for a while. */
  halfOpen(): void {
    if (this.state !== 'open') return;
    this.uncork();
    this.state = 'half_open';
    this.deps.ws.pause();
    this.later(Math.max(shortestHalfOpenMs, halfOpenBeats * this.options.heartbeatMs), () => this.cut('rst'));
  }

  get isHalfOpen(): boolean {
    return this.state === 'half_open';
  }

  /** Calls back after `delayMs` unless the connection has ended by then. */
  later(delayMs: number, callback: () => void): void {
    const timer = this.deps.clock.after(delayMs, () => {
      this.timers.delete(timer);
      callback();
    });
    this.timers.add(timer);
  }

  private uncork(): void {
    if (!this.corked) return;
    this.corked = false;
    this.deps.socket.uncork();
    if (this.state !== 'open' || this.backlogBytes <= this.options.maxBacklogBytes) return;
    const farewell = this.deps.manner.slowConsumer?.(this.now());
    if (farewell !== undefined) this.sendMessage(farewell);
    this.close(streamCloseCodes.slowConsumer, 'slow consumer');
  }

  private beat(): void {
    if (this.state === 'closed') return;
    this.later(this.options.heartbeatMs, () => this.beat());
    if (this.state !== 'open') return;
    const heartbeat = this.deps.manner.heartbeat?.(this.now());
    if (heartbeat !== undefined) this.sendMessage(heartbeat);
    if (!this.heardPong && this.backlogBytes === 0) {
      this.cut('rst');
      return;
    }
    this.heardPong = false;
    this.deps.ws.ping();
  }

  private finish(): void {
    this.state = 'closed';
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
    this.deps.onClosed(this);
  }
}

const noSessions: readonly StreamSession[] = [];

/** The sessions that follow each account. */
export class Subscriptions {
  readonly sessions = new Set<StreamSession>();
  private readonly followers = new Map<string, StreamSession[]>();

  /** In the order they subscribed. */
  of(topic: StreamTopic, accountId: string): readonly StreamSession[] {
    return this.followers.get(`${topic} ${accountId}`) ?? noSessions;
  }

  add(session: StreamSession, topic: StreamTopic, accountId: string): void {
    const target = `${topic} ${accountId}`;
    if (session.targets.has(target)) return;
    session.targets.set(target, { topic, accountId });
    this.followers.set(target, [...(this.followers.get(target) ?? []), session]);
  }

  remove(session: StreamSession, topic: StreamTopic, accountId: string): void {
    this.drop(session, `${topic} ${accountId}`);
  }

  removeAll(session: StreamSession): void {
    for (const target of [...session.targets.keys()]) this.drop(session, target);
    this.sessions.delete(session);
  }

  /** True when more than `bytes` wait for one reader. */
  behind(bytes: number): boolean {
    for (const session of this.sessions) if (session.open && session.backlogBytes > bytes) return true;
    return false;
  }

  private drop(session: StreamSession, target: string): void {
    session.targets.delete(target);
    const left = (this.followers.get(target) ?? []).filter((it) => it !== session);
    if (left.length === 0) this.followers.delete(target);
    else this.followers.set(target, left);
  }
}
