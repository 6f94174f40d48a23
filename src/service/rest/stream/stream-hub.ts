import type { Ambient } from '../../../observability/ambient.ts';
import type { RestMetrics } from '../../../observability/metrics.ts';
import type { Timer } from '../../../runtime/clock.ts';
import { Wakeup } from '../../../runtime/waiting.ts';
import type { AccountScope, OrderReads, StreamedUpdate } from '../../../store/orders/order-reads.ts';
import { PagePieces } from './page-pieces.ts';
import { StreamClient, type StreamReader, type TokenVerdict } from './stream-client.ts';
import type { EventSink } from './stream-event.ts';

interface StreamHubDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly reads: Pick<OrderReads, 'updatesAfter' | 'newestSeq'>;
  readonly metrics: RestMetrics;
  /** `readUnacknowledged`; left out: only bytes our own kernel has not taken count. */
  readonly unacknowledged?: () => Promise<ReadonlyMap<string, number>>;
}

export interface StreamHubOptions {
  readonly maxClients: number;
  readonly maxClientsPerPrincipal: number;
  /** The most bytes one reader's socket may leave untaken. */
  readonly maxBufferedBytes: number;
  /** How long a reader that catches up may take to make room. */
  readonly stallMs: number;
  /** A reader is gone if it takes nothing for so long, although something waits for it. */
  readonly goneAfterMs: number;
  readonly heartbeatEveryMs: number;
  /** After this time a reader has to connect again. */
  readonly maxAgeMs: number;
  /**
   * How often each reader's token is checked. Together with the time until a change in the database
   * is noticed it stays below 5 s.
   */
  readonly judgeEveryMs: number;
  /**
   * How often the tail reads the log without being woken: on a standby, another instance makes the
   * commits.
   */
  readonly pollEveryMs: number;
  /** It never reads more often than this, however many commits there are. */
  readonly pollGapMs: number;
}

export const streamHubDefaults: StreamHubOptions = {
  maxClients: 200,
  maxClientsPerPrincipal: 50,
  maxBufferedBytes: 1_048_576,
  stallMs: 30_000,
  goneAfterMs: 60_000,
  heartbeatEveryMs: 15_000,
  maxAgeMs: 3_600_000,
  judgeEveryMs: 1_000,
  pollEveryMs: 500,
  pollGapMs: 20,
};

const pageSize = 200;
const catchUpReads = 4;
const everyAccount: AccountScope = { kind: 'all' };
const noBytes: ReadonlyMap<string, number> = new Map();

type LogPage = Awaited<ReturnType<OrderReads['updatesAfter']>>;

/** Rows above `position` are gone: dropped, or lost with the commits of a failover. */
function isMissing({ oldestSeq, lastSeq }: LogPage, position: bigint): boolean {
  return oldestSeq > position + 1n && lastSeq > position;
}

/**
 * The readers on `GET /v1/stream`, and one tail on the log for all live ones.
 *
 * States: idle (no live reader, nothing is read) ⇄ tailing → stopped. Invariant: a live reader has
 * got every update for its accounts up to the tail's position. A reader that catches up joins only
 * when it has read that far, so no update is lost in between.
 */
export class StreamHub {
  private readonly clients = new Set<StreamClient>();
  private readonly wakeup = new Wakeup();
  private readonly turns = new ReadTurns(catchUpReads);
  /** Undefined: no reader is live. */
  private tailPosition: bigint | undefined;
  private stopped = false;
  private failing = false;
  private beat: Timer | undefined;
  private judging: Timer | undefined;
  private tail: Promise<void> | undefined;
  private readonly deps: StreamHubDeps;
  private readonly options: StreamHubOptions;

  constructor(deps: StreamHubDeps, options: StreamHubOptions) {
    this.deps = deps;
    this.options = options;
  }

  start(): void {
    this.scheduleBeat();
    this.scheduleJudging();
    this.tail ??= this.follow();
  }

  /** A batch was committed here: read the log now. */
  wake(): void {
    if (this.tailPosition !== undefined) this.wakeup.wake();
  }

  /** Whether `principal` may open one more stream. */
  hasRoom(principal: string): boolean {
    const { maxClients, maxClientsPerPrincipal } = this.options;
    if (this.stopped || this.clients.size >= maxClients) return false;
    let own = 0;
    for (const { reader } of this.clients) if (reader.principal === principal) own += 1;
    return own < maxClientsPerPrincipal;
  }

  /** Takes the reader over. `after`: its last id; `newest`: the log's end as just read. */
  open(reader: StreamReader, sink: EventSink, after: bigint | undefined, newest: bigint): StreamClient {
    const { clock } = this.deps;
    const client = new StreamClient({ clock, sink }, reader, after ?? newest, this.options);
    this.clients.add(client);
    this.deps.metrics.streamClients.set(this.clients.size);
    sink.onGone(() => this.leave(client));
    client.greet();
    if (after !== undefined && after > newest) this.skip(client, newest, 'unknown_id');
    void this.catchUp(client);
    return client;
  }

  /** Sends every reader a last event and ends its connection. */
  stop(): void {
    this.stopped = true;
    this.beat?.cancel();
    this.judging?.cancel();
    for (const client of [...this.clients]) client.shutdown('draining');
    this.wakeup.wake();
  }

  private leave(client: StreamClient): void {
    client.gone();
    this.clients.delete(client);
    this.deps.metrics.streamClients.set(this.clients.size);
    if (!this.anyLive()) this.tailPosition = undefined;
  }

  private anyLive(): boolean {
    for (const { state } of this.clients) if (state === 'live') return true;
    return false;
  }

  private skip(client: StreamClient, position: bigint, reason: 'too_old' | 'unknown_id'): void {
    client.skipTo(position, reason);
    this.deps.metrics.streamResets.inc({ reason });
  }

  /**
   * Reads the log for one reader until it has reached the tail, or the log's end if no other reader
   * is live.
   */
  private async catchUp(client: StreamClient): Promise<void> {
    while (client.state === 'behind') {
      const page = await this.read(client.reader.accounts, client.position);
      if (page === undefined) {
        await this.deps.clock.sleep(this.options.pollEveryMs);
        continue;
      }
      if (isMissing(page, client.position)) {
        const newest = await this.newest();
        if (newest !== undefined && client.state === 'behind') this.skip(client, newest, 'too_old');
        continue;
      }
      if (await this.pushAll(client, page.updates)) this.join(client, page.lastSeq, await this.isNearEnd(page));
    }
  }

  private async pushAll(client: StreamClient, updates: readonly StreamedUpdate[]): Promise<boolean> {
    for (const update of updates) {
      if (client.state !== 'behind') return false;
      if (!(await client.push(update))) {
        this.deps.metrics.streamResets.inc({ reason: 'slow_reader' });
        return false;
      }
    }
    return client.state === 'behind';
  }

  /**
   * A page with room left need not be the last: for a quiet account a read returns little, however
   * far it looked. Only the first live reader has to be near the end: the tail begins at its
   * position. Later readers would have to wait while the tail goes through everything unseen.
   */
  private async isNearEnd(page: LogPage): Promise<boolean> {
    if (this.tailPosition !== undefined || page.updates.length === pageSize) return false;
    const newest = await this.newest();
    return newest !== undefined && newest - page.lastSeq < BigInt(pageSize);
  }

  /** Undefined: it could not be read. Its callers look again at once, so the wait is here. */
  private async newest(): Promise<bigint | undefined> {
    try {
      return await this.deps.reads.newestSeq();
    } catch {
      await this.deps.clock.sleep(this.options.pollEveryMs);
      return undefined;
    }
  }

  private join(client: StreamClient, lookedUpTo: bigint, nearEnd: boolean): void {
    client.passed(lookedUpTo);
    if (client.state !== 'behind') return;
    if (this.tailPosition === undefined ? !nearEnd : client.position < this.tailPosition) return;
    client.state = 'live';
    this.tailPosition ??= client.position;
    this.wakeup.wake();
  }

  private async follow(): Promise<void> {
    const { clock } = this.deps;
    while (!this.stopped) {
      const from = this.tailPosition;
      const page = from === undefined ? undefined : await this.read(everyAccount, from);
      if (page !== undefined && from !== undefined) {
        if (this.tailPosition === from) this.handOut(page, from);
        if (page.lastSeq - from >= BigInt(pageSize)) continue;
      }
      await clock.sleep(this.options.pollGapMs);
      const timer =
        this.tailPosition === undefined ? undefined : clock.after(this.options.pollEveryMs, () => this.wakeup.wake());
      if (!this.stopped) await this.wakeup.wait();
      timer?.cancel();
    }
  }

  private handOut(page: LogPage, from: bigint): void {
    if (isMissing(page, from))
      for (const client of this.clients) if (client.state === 'live') this.skip(client, page.lastSeq, 'too_old');
    const pieces = new PagePieces(page.updates);
    const first = page.updates[0]?.seq ?? 0n;
    for (const client of this.clients) {
      if (client.state !== 'live') continue;
      // A reader from its own pages may have a part of this one.
      const own =
        client.position < first ? pieces : new PagePieces(page.updates.filter(({ seq }) => seq > client.position));
      if (!client.offer(own.piecesFor(client))) this.deps.metrics.streamResets.inc({ reason: 'slow_reader' });
    }
    for (const client of this.clients) if (client.state === 'live') client.passed(page.lastSeq);
    if (this.tailPosition !== undefined && page.lastSeq > this.tailPosition) this.tailPosition = page.lastSeq;
    if (!this.anyLive()) this.tailPosition = undefined;
  }

  private async read(accounts: AccountScope, after: bigint) {
    const read = () => this.deps.reads.updatesAfter(accounts, after, pageSize);
    try {
      // The tail does not queue behind readers that catch up.
      const page = accounts === everyAccount ? await read() : await this.turns.run(read);
      this.failing = false;
      return page;
    } catch (error) {
      if (!this.failing) this.deps.log.warn({ err: error }, 'the stream of updates waits: the log could not be read');
      this.failing = true;
      return undefined;
    }
  }

  private scheduleBeat(): void {
    const { clock } = this.deps;
    this.beat = clock.after(this.options.heartbeatEveryMs, () => {
      for (const client of [...this.clients]) {
        if (clock.monotonicMs() - client.openedAtMs >= this.options.maxAgeMs) client.shutdown('max_age');
        else client.beat();
      }
      void this.endGone();
      this.scheduleBeat();
    });
  }

  /**
   * A peer cut off without a word would otherwise keep its place for as long as its kernel buffers
   * the bytes sent to it. Never rejects.
   */
  private async endGone(): Promise<void> {
    const { unacknowledged, metrics, log } = this.deps;
    if (this.clients.size === 0) return;
    const bytes = (await unacknowledged?.()) ?? noBytes;
    for (const client of [...this.clients]) {
      if (!client.hasGone(bytes)) continue;
      metrics.slowReaders.inc();
      log.warn(
        { principal: client.reader.principal },
        'a reader of the stream has taken nothing for too long: its place is free',
      );
      client.cut();
    }
  }

  /**
   * A JWT is verified each time. 200 readers (the most served) cost 40 ms a second by ES256, 17 by
   * RS256.
   */
  private scheduleJudging(): void {
    this.judging = this.deps.clock.after(this.options.judgeEveryMs, () => {
      for (const client of [...this.clients]) {
        const verdict = client.reader.judge();
        if (verdict instanceof Promise) void verdict.then((later) => this.applyVerdict(client, later));
        else this.applyVerdict(client, verdict);
      }
      this.scheduleJudging();
    });
  }

  /** A token that can't be checked now was good before, so its stream goes on. */
  private applyVerdict(client: StreamClient, verdict: TokenVerdict): void {
    if (verdict === 'expired' || verdict === 'revoked') client.shutdown(`token_${verdict}`);
  }
}

/**
 * At most `limit` at once, first come first served: readers catching up share the database with all
 * other work.
 */
class ReadTurns {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.free = limit;
  }

  async run<T>(read: () => Promise<T>): Promise<T> {
    if (this.free === 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.free -= 1;
    try {
      return await read();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.free += 1;
      else next();
    }
  }
}
