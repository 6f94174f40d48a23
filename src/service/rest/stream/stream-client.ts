import type { Stream } from '../../../domain/order.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { AccountScope, EventPosition, StreamedEvent, StreamedUpdate } from '../../../store/orders/order-reads.ts';
import type { Piece } from './page-pieces.ts';
import type { EventSink } from './stream-event.ts';
import {
  greeting,
  heartbeat,
  type ResetReason,
  resetEvent,
  resultOrHalt,
  type ShutdownReason,
  shutdownEvent,
  streamId,
  updateEvent,
} from './stream-event.ts';

export interface StreamReader {
  readonly principal: string;
  /** Already limited to the requested account. */
  readonly accounts: AccountScope;
  readonly stream?: Stream | undefined;
  /** The event kinds wanted beside updates, and their start. Left out: updates only. */
  readonly events?: { readonly kinds: ReadonlySet<StreamedEvent['kind']>; readonly after: EventPosition } | undefined;
  /** Checks its token again, by present knowledge. Never rejects. */
  readonly judge: () => TokenVerdict | Promise<TokenVerdict>;
}

/** `unknown`: can't be decided now. */
export type TokenVerdict = 'good' | 'expired' | 'revoked' | 'unknown';

interface StreamClientOptions {
  /** A reader with more untaken bytes in its socket is too slow. */
  readonly maxBufferedBytes: number;
  /**
   * How long a reader that catches up may take to make room: half of `maxBufferedBytes` in 30 s is
   * 17 kB a second.
   */
  readonly stallMs: number;
  /** A reader that takes nothing for so long is gone, and its place is free. */
  readonly goneAfterMs: number;
}

/** How long the last event may take to be sent. */
const lastEventWithinMs = 5000;

/**
 * One reader of the stream. States: `behind` (it reads the log by pages, at its own pace) → `live`
 * (the tail offers it each update) → `ended`.
 *
 * Invariant: the written ids rise, and every update for its accounts above the first position was
 * written, or a `reset` was, or the stream ended. So a reader can always go on from its last id.
 * Its untaken bytes are bounded by `maxBufferedBytes` and one update.
 */
export class StreamClient {
  readonly reader: StreamReader;
  readonly openedAtMs: number;
  state: 'behind' | 'live' | 'ended' = 'behind';
  /** Everything up to here has been written or is not for this reader. */
  position: bigint;
  /** The same for results and halts; undefined if it wants none. */
  events: EventPosition | undefined;
  /** Readers with the same text want the same updates. */
  readonly selection: string;
  private readonly accountIds: ReadonlySet<string> | undefined;
  private readonly clock: Clock;
  private readonly sink: EventSink;
  private readonly options: StreamClientOptions;
  private written = 0;
  /**
   * The written bytes that it had taken at its last progress; below zero while the answer's head
   * waits.
   */
  private taken = Number.NEGATIVE_INFINITY;
  private tookAtMs: number;

  constructor(
    deps: { readonly clock: Clock; readonly sink: EventSink },
    reader: StreamReader,
    position: bigint,
    options: StreamClientOptions,
  ) {
    this.clock = deps.clock;
    this.sink = deps.sink;
    this.reader = reader;
    this.position = position;
    this.events = reader.events?.after;
    this.options = options;
    this.openedAtMs = deps.clock.monotonicMs();
    this.tookAtMs = this.openedAtMs;
    this.accountIds = reader.accounts.kind === 'all' ? undefined : new Set(reader.accounts.accountIds);
    this.selection = JSON.stringify([
      reader.stream ?? '',
      this.accountIds === undefined ? '' : [...this.accountIds].sort(),
    ]);
  }

  wants({ stream, accountId }: StreamedUpdate): boolean {
    if (this.reader.stream !== undefined && this.reader.stream !== stream) return false;
    return this.accountIds === undefined || this.accountIds.has(accountId);
  }

  /**
   * Live only: the next updates' events, all above its position. False: the reader was too slow and
   * has ended.
   */
  offer(pieces: readonly Piece[]): boolean {
    for (const { bytes, lastSeq } of pieces) {
      if (this.state !== 'live') return true;
      if (this.sink.bufferedBytes + bytes.length > this.options.maxBufferedBytes) {
        this.end(resetEvent('slow_reader'));
        return false;
      }
      this.position = lastSeq;
      this.write(bytes);
    }
    return true;
  }

  /**
   * Behind only: waits until the reader makes room. False: it made none within `stallMs` and has
   * ended.
   */
  async push(update: StreamedUpdate): Promise<boolean> {
    if (update.seq <= this.position) return true;
    if (this.sink.bufferedBytes > this.options.maxBufferedBytes / 2 && !(await this.room())) {
      this.end(resetEvent('slow_reader'));
      return false;
    }
    if (this.state === 'ended') return true;
    this.position = update.seq;
    if (this.wants(update)) this.write(updateEvent(update, this.id));
    return true;
  }

  /**
   * The stream goes on from `position`. The updates in between are lost to this reader, and a
   * `reset` says so.
   */
  skipTo(position: bigint, reason: ResetReason): void {
    this.position = position;
    this.write(resetEvent(reason, this.id));
  }

  /** Whether results and halts may be written now: they wait for a reader that takes nothing. */
  hasRoom(): boolean {
    return this.state !== 'ended' && this.sink.bufferedBytes <= this.options.maxBufferedBytes / 2;
  }

  takeEvent(event: StreamedEvent): void {
    const { tx, number, kind, accountId, stream } = event;
    if (this.state === 'ended' || !this.isAboveEvents(event)) return;
    this.events = { tx, number };
    if (this.reader.events?.kinds.has(kind) !== true) return;
    if (accountId !== undefined && this.accountIds?.has(accountId) === false) return;
    if (stream !== undefined && this.reader.stream !== undefined && this.reader.stream !== stream) return;
    this.write(resultOrHalt(event, this.id));
  }

  /** Up to here all results and halts for this reader are written. */
  passedEvents(position: EventPosition): void {
    if (this.isAboveEvents(position)) this.events = position;
  }

  /**
   * Results and halts go on from `position`. Those in between are lost to this reader, and a
   * `reset` says so.
   */
  skipEventsTo(position: EventPosition, reason: ResetReason): void {
    if (this.state === 'ended') return;
    this.events = position;
    this.write(resetEvent(reason, this.id));
  }

  private isAboveEvents({ tx, number }: EventPosition): boolean {
    const { events } = this;
    return events !== undefined && (tx > events.tx || (tx === events.tx && number > events.number));
  }

  private get id(): string {
    return streamId(this.position, this.events);
  }

  greet(): void {
    this.write(greeting(this.id));
  }

  /** Up to here everything was offered or read, and all updates for this reader are written. */
  passed(position: bigint): void {
    if (position > this.position) this.position = position;
  }

  beat(): void {
    if (this.state !== 'ended' && this.sink.bufferedBytes === 0) this.write(heartbeat(this.id));
  }

  shutdown(reason: ShutdownReason): void {
    this.end(shutdownEvent(reason, this.id));
  }

  /**
   * Whether it has taken nothing for `goneAfterMs`, although something waits for it. Asked at each
   * heartbeat, so that something does. `unacknowledged`: bytes that our kernel has taken and its
   * kernel has not.
   */
  hasGone(unacknowledged: ReadonlyMap<string, number>): boolean {
    const waiting = this.sink.bufferedBytes + (unacknowledged.get(this.sink.ports ?? '') ?? 0);
    const nowMs = this.clock.monotonicMs();
    const taken = this.written - waiting;
    if (waiting === 0 || taken > this.taken) {
      this.taken = taken;
      this.tookAtMs = nowMs;
    }
    return this.state !== 'ended' && nowMs - this.tookAtMs >= this.options.goneAfterMs;
  }

  /** Ends it without last words, since it would not take them either. */
  cut(): void {
    this.state = 'ended';
    this.sink.destroy();
  }

  /** The reader left. */
  gone(): void {
    this.state = 'ended';
  }

  private write(text: string | Uint8Array): void {
    this.written += typeof text === 'string' ? Buffer.byteLength(text) : text.length;
    this.sink.write(text);
  }

  private end(lastWords: string): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    this.write(lastWords);
    this.sink.end();
    const timer = this.clock.after(lastEventWithinMs, () => this.sink.destroy());
    this.sink.onGone(() => timer.cancel());
  }

  /** False: nothing was taken in time. */
  private room(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.clock.after(this.options.stallMs, () => resolve(false));
      this.sink.onRoom(() => {
        timer.cancel();
        resolve(true);
      });
    });
  }
}
