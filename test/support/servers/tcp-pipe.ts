import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../../src/runtime/clock.ts';

export type Cut = 'fin' | 'reset';

/** What happens to the bytes of one direction. */
export type Behaviour =
  | { readonly kind: 'pass' }
  /** Each byte arrives this much later, in order. */
  | { readonly kind: 'delay'; readonly ms: number }
  /**
   * Nothing arrives until the behaviour changes; then everything does: a
   * network that stalls, a peer that is frozen.
   */
  | { readonly kind: 'hold' }
  /**
   * What is sent is lost, and so is the end of the connection: half open. A connection that lost
   * bytes is reset when the behaviour changes.
   */
  | { readonly kind: 'swallow' }
  /**
   * The next `bytes` bytes of each connection pass, then it is cut or goes half open: in the middle
   * of a frame, of an answer, of a handshake.
   */
  | { readonly kind: 'after'; readonly bytes: number; readonly ending: Cut | 'swallow' }
  /** One bit of every n-th byte is flipped. */
  | { readonly kind: 'corrupt'; readonly everyBytes: number }
  /** `bytes` bytes at a time, `everyMs` apart. */
  | { readonly kind: 'dribble'; readonly bytes: number; readonly everyMs: number };

/**
 * Beyond this the sender is no longer read, so that a held sender feels
 * back pressure instead of filling our memory.
 */
const maxQueuedBytes = 1024 * 1024;

interface Piece {
  readonly bytes: Buffer;
  readonly receivedMs: number;
}

/**
 * One direction of a proxied connection.
 *
 * Invariant: bytes leave in the order in which they came, none twice; once one is lost (`swallow`)
 * nothing more ever leaves, since no real network delivers what follows a hole.
 */
export class TcpPipe {
  private behaviour: Behaviour;
  private pieces: Piece[] = [];
  private queuedBytes = 0;
  private passedBytes = 0;
  private nextDribbleMs = 0;
  private lost = false;
  private ended = false;
  private broken = false;
  private timer: Timer | undefined;
  private readonly clock: Clock;
  private readonly from: Socket;
  private readonly to: Socket;
  private readonly cut: (how: Cut) => void;

  constructor(deps: { clock: Clock; from: Socket; to: Socket; cut: (how: Cut) => void }, behaviour: Behaviour) {
    this.clock = deps.clock;
    this.from = deps.from;
    this.to = deps.to;
    this.cut = deps.cut;
    this.behaviour = behaviour;
    this.from.on('data', (chunk: Buffer) => this.receive(chunk));
    this.from.on('end', () => {
      this.ended = true;
      this.pump();
    });
    this.from.on('close', () => {
      this.broken = !this.ended;
      this.pump();
    });
    this.to.on('drain', () => this.pump());
    this.to.on('close', () => this.timer?.cancel());
  }

  behave(behaviour: Behaviour): void {
    if (this.lost) {
      this.cut('reset');
      return;
    }
    this.behaviour = behaviour;
    this.passedBytes = 0;
    this.pump();
  }

  private receive(bytes: Buffer): void {
    this.pieces.push({ bytes, receivedMs: this.clock.monotonicMs() });
    this.queuedBytes += bytes.length;
    if (this.queuedBytes > maxQueuedBytes) this.from.pause();
    this.pump();
  }

  private pump(): void {
    this.timer?.cancel();
    if (this.lost || this.behaviour.kind === 'swallow') this.swallow();
    else this.passAll();
  }

  private passAll(): void {
    while (this.behaviour.kind !== 'hold' && !this.to.writableNeedDrain) {
      const [piece] = this.pieces;
      if (piece === undefined) {
        this.finish();
        return;
      }
      const waitMs = this.waitMs(piece);
      if (waitMs > 0) {
        this.timer = this.clock.after(waitMs, () => this.pump());
        return;
      }
      if (!this.passOn(piece)) return;
    }
  }

  /** How much longer the oldest piece has to stay. */
  private waitMs(piece: Piece): number {
    const now = this.clock.monotonicMs();
    if (this.behaviour.kind === 'delay') return piece.receivedMs + this.behaviour.ms - now;
    if (this.behaviour.kind === 'dribble') return this.nextDribbleMs - now;
    return 0;
  }

  /** Writes as much of the oldest piece as may go now; false when nothing follows. */
  private passOn(piece: Piece): boolean {
    const b = this.behaviour;
    let most = piece.bytes.length;
    if (b.kind === 'after') most = Math.min(most, b.bytes - this.passedBytes);
    if (b.kind === 'dribble') {
      most = Math.min(most, b.bytes);
      this.nextDribbleMs = this.clock.monotonicMs() + b.everyMs;
    }
    const bytes = this.take(most);
    if (b.kind === 'corrupt') this.flip(bytes, b.everyBytes);
    this.passedBytes += bytes.length;
    if (bytes.length > 0) this.to.write(bytes);
    if (b.kind !== 'after' || this.passedBytes < b.bytes) return true;
    if (b.ending === 'swallow') this.swallow();
    else this.cut(b.ending);
    return false;
  }

  private take(count: number): Buffer {
    const [piece] = this.pieces;
    if (piece === undefined) return Buffer.alloc(0);
    const rest = piece.bytes.subarray(count);
    if (rest.length === 0) this.pieces.shift();
    else this.pieces[0] = { ...piece, bytes: rest };
    this.queuedBytes -= count;
    if (this.queuedBytes <= maxQueuedBytes) this.from.resume();
    return Buffer.from(piece.bytes.subarray(0, count));
  }

  private flip(bytes: Buffer, every: number): void {
    for (let i = every - 1 - (this.passedBytes % every); i < bytes.length; i += every)
      bytes[i] = (bytes[i] ?? 0) ^ 0x10;
  }

  private swallow(): void {
    if (this.pieces.length > 0 || this.ended || this.broken) this.lost = true;
    if (this.behaviour.kind === 'after') this.lost = true;
    this.pieces = [];
    this.queuedBytes = 0;
    this.from.resume();
  }

  /** All bytes are through: the end of the connection follows them. */
  private finish(): void {
    if (this.ended) this.to.end();
    else if (this.broken) this.cut('reset');
  }
}
