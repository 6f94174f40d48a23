import type { Clock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import type { Socket, SocketEnd, SocketHandlers } from '../../../src/service/sources/socket.ts';
import type { Host } from '../host.ts';

const handshakeMs = 5_000;
const goodbyeMs = 2_000;
const pingLatencyMs = 1;
/** Frames that a reader may leave lying before the platform ends the connection. */
const slowConsumerFrames = 5_000;

/** On the way to the process, or waiting to be read by it: a message, or a pong behind it. */
interface Arrival {
  readonly bytes: number;
  readonly read: () => void;
}

/** The platform's side of a socket. */
export interface SocketPeer {
  /** How the upgrade is answered; `hang`: never. */
  upgrade(socket: MemorySocket): SocketEnd | 'open' | 'hang';
  message(socket: MemorySocket, text: string): void;
  /** Nothing can be sent on it any more. */
  gone(socket: MemorySocket): void;
  /** The process knows that it has ended, by being told or by its own doing. */
  left(socket: MemorySocket): void;
}

/**
 * One WebSocket in memory, with the wire between its ends: messages and pongs arrive in the order
 * in which they were sent, a moment or seconds later, at a process that may be frozen or gone.
 *
 * States, of the wire: opening → open → ended. `silent` is a half-open connection: nothing arrives
 * any more and nobody is told.
 */
export class MemorySocket implements Socket {
  readonly token: string;
  readonly url: string;
  readonly host: Host;
  /** `<stream>:<accountId>` as the platform holds it, and as the process was told. */
  readonly subscribed = new Set<string>();
  silent = false;
  delivered = 0;
  private wire: 'opening' | 'open' | 'ended' = 'opening';
  private toldOpen = false;
  private toldEnd = false;
  private paused = false;
  private readonly unread: Arrival[] = [];
  private bytes = 0;
  private lastArrivalMs = 0;
  /** What was sent and has not arrived, the oldest first. */
  private readonly onTheWay: (() => void)[] = [];
  private readonly clock: Clock;
  private readonly random: Random;
  private readonly peer: SocketPeer;
  private readonly handlers: SocketHandlers;

  constructor(
    deps: { clock: Clock; random: Random; peer: SocketPeer; host: Host },
    options: { url: string; token: string; handlers: SocketHandlers },
  ) {
    this.clock = deps.clock;
    this.random = deps.random;
    this.peer = deps.peer;
    this.host = deps.host;
    this.url = options.url;
    this.token = options.token;
    this.handlers = options.handlers;
    deps.host.onCrash.push(() => this.terminate());
    this.clock.after(this.latencyMs(), () => this.upgrade());
    this.clock.after(handshakeMs, () => this.host.deliver(() => this.handshakeMissed()));
  }

  get open(): boolean {
    return this.wire === 'open';
  }

  /** From the platform. `onRead`: the process is about to see it. */
  push(text: string, onRead?: () => void): void {
    const read = () => {
      this.delivered += 1;
      onRead?.();
      this.handlers.onFrame(text);
    };
    if (this.wire === 'open') this.carry(() => this.arrive({ bytes: text.length, read }));
  }

  /**
   * What is sent from now on arrives after this time at the
   * earliest: it lies in buffers on the way.
   */
  congest(forMs: number): void {
    this.lastArrivalMs = Math.max(this.lastArrivalMs, this.clock.monotonicMs() + forMs);
  }

  /** The platform or the network ends it. `lose`: what is on the way is lost. */
  endBy(end: SocketEnd, lose: boolean): void {
    if (this.wire === 'ended') return;
    this.wire = 'ended';
    this.peer.gone(this);
    if (this.silent) return;
    this.silent = lose;
    const tell = () => this.host.deliver(() => this.tellEnd(end));
    if (lose) this.clock.after(this.latencyMs(), tell);
    else this.carry(tell);
  }

  send(text: string): void {
    this.clock.after(this.latencyMs(), () => {
      if (this.wire === 'open' && !this.silent) this.peer.message(this, text);
    });
  }

  ping(payload: string): void {
    const read = () => this.handlers.onPong(payload);
    this.clock.after(pingLatencyMs, () => {
      if (this.wire === 'open' && !this.silent) this.carry(() => this.arrive({ bytes: 2 + payload.length, read }));
    });
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.clock.after(0, () => this.host.deliver(() => this.readOn()));
  }

  close(): void {
    const end: SocketEnd = { kind: 'closed', code: 1000, reason: '' };
    this.clock.after(this.latencyMs(), () => this.endBy(end, false));
    this.clock.after(goodbyeMs, () =>
      this.host.deliver(() => this.tellEnd({ kind: 'closed', code: 1006, reason: '' })),
    );
  }

  terminate(): void {
    this.toldEnd = true;
    this.peer.left(this);
    if (this.wire === 'ended') return;
    this.wire = 'ended';
    this.peer.gone(this);
  }

  bytesReceived(): number {
    return this.bytes;
  }

  private upgrade(): void {
    if (this.wire !== 'opening') return;
    const verdict = this.peer.upgrade(this);
    if (verdict === 'hang') return;
    if (verdict !== 'open') {
      this.endBy(verdict, true);
      return;
    }
    this.wire = 'open';
    this.carry(() => this.host.deliver(() => this.opened()));
  }

  private opened(): void {
    if (this.toldEnd) return;
    this.toldOpen = true;
    this.handlers.onOpen();
  }

  private handshakeMissed(): void {
    if (!this.toldOpen) this.tellEnd({ kind: 'failed', code: 'timeout', message: 'no answer to the upgrade' });
  }

  private latencyMs(): number {
    return 0.2 + this.random.next() * 2;
  }

  /** In order: nothing overtakes on one wire. */
  private carry(arrive: () => void): void {
    const nowMs = this.clock.monotonicMs();
    this.lastArrivalMs = Math.max(this.lastArrivalMs, nowMs + this.latencyMs());
    this.onTheWay.push(arrive);
    // The first that was sent, whichever timer comes first: two of
    // one instant differ by a rounding (seed 71).
    this.clock.after(this.lastArrivalMs - nowMs, () => {
      const next = this.onTheWay.shift();
      if (!this.silent) next?.();
    });
  }

  private arrive(arrival: Arrival): void {
    this.bytes += arrival.bytes;
    this.unread.push(arrival);
    if (this.unread.length > slowConsumerFrames)
      this.endBy({ kind: 'closed', code: 4429, reason: 'slow consumer' }, true);
    this.host.deliver(() => this.readOn());
  }

  private readOn(): void {
    while (!this.paused && !this.toldEnd) {
      const arrival = this.unread.shift();
      if (arrival === undefined) return;
      arrival.read();
    }
  }

  private tellEnd(end: SocketEnd): void {
    if (this.toldEnd) return;
    this.paused = false;
    this.readOn();
    if (this.toldEnd) return;
    if (this.wire !== 'ended') this.peer.gone(this);
    this.toldEnd = true;
    this.wire = 'ended';
    this.peer.left(this);
    this.handlers.onEnd(end);
  }
}
