import type { IngestItem, Observation, Unreadable } from '../../../src/domain/observation.ts';
import { traits } from '../../../src/domain/streams.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { ObservationSink } from '../../../src/service/sources/observation-sink.ts';
import type { Http, HttpResult } from '../../../src/venue/http.ts';
import { type Began, PagedLists } from '../venues/paged-lists.ts';
import type { AskedRead, SimulatedReads } from '../venues/simulated-venue.ts';
import type { MemorySocket } from '../world/memory-socket.ts';
import { InFlightWatch } from './in-flight-watch.ts';
import { LossWatch } from './loss-watch.ts';

/** Before that, an account that showed nothing has nothing. */
const horizonMs = 6 * 86_400_000;

interface Account {
  /**
   * By socket, the oldest first: covered since. One may have taken over from
   * another, unless that one was dead already.
   */
  readonly sockets: Map<MemorySocket, number>;
  wasAcknowledged: boolean;
  /** When the first request began of the newest list that was answered to its end. */
  listBeganMs: number | undefined;
  /** By creation: the newest of its open orders, and of its new ones. */
  readonly parts: Map<string, number>;
  unsettledRows: number;
}

/**
 * One process's claims of completeness held against what it did (docs/guarantees.md 4 and 5):
 * `live` only after a list that began behind the subscription was read to its end and everything in
 * it is settled; everything offered ends once.
 */
export class CoverageWatch {
  offered = 0;
  settledOnce = 0;
  lives = 0;
  private readonly seen: string[] = [];
  private readonly accounts = new Map<string, Account>();
  private readonly lists = new PagedLists();
  /**
   * Rows of single orders that were answered and not offered yet: they may
   * be read at any time, and are of no list.
   */
  private readonly singles = new Map<string, number>();
  readonly inFlight: InFlightWatch;
  private readonly losses: LossWatch;
  /** Whose frame is handed over now, or was last. */
  private reading = '';
  private readonly clock: Clock;
  private readonly reads: SimulatedReads;

  constructor(clock: Clock, reads: SimulatedReads) {
    this.clock = clock;
    this.reads = reads;
    this.losses = new LossWatch(clock);
    this.inFlight = new InFlightWatch(clock);
  }

  get breaches(): string[] {
    return [...this.seen, ...this.losses.breaches, ...this.inFlight.breaches];
  }

  acknowledged(socket: MemorySocket, name: string): void {
    const account = this.account(name);
    const { sockets } = account;
    account.wasAcknowledged = true;
    const isFirst = [...sockets.keys()].every(({ silent }) => silent);
    sockets.set(socket, (isFirst ? undefined : newestOf(sockets)) ?? this.clock.monotonicMs());
  }

  left(socket: MemorySocket): void {
    this.inFlight.left(socket);
    for (const { sockets } of this.accounts.values()) sockets.delete(socket);
  }

  /** As `InFlightWatch.sent`. */
  sent(socket: MemorySocket, name: string, text: string): () => void {
    const read = this.inFlight.sent(socket, name, text);
    return () => {
      this.reading = name;
      read();
    };
  }

  /** The way to the platform, with the lists that go over it noted. */
  http(inner: Http): Http {
    return {
      request: async (request) => {
        const asked = this.reads.asked(request);
        // A list under a reference says nothing of the others.
        if (asked === undefined || asked.reference !== undefined) return inner.request(request);
        const began = this.lists.of(asked, this.clock.monotonicMs());
        const answer = await inner.request(request);
        if (answer.kind === 'answered' && answer.status === 200) this.answered(asked, began, answer);
        return answer;
      },
      close: () => inner.close(),
    };
  }

  /** The way into ingest, with everything on it counted. */
  sink(inner: ObservationSink): ObservationSink {
    return {
      offer: (item) => inner.offer(this.watched(item)),
      get full() {
        return inner.full;
      },
      onRoom: (callback) => inner.onRoom(callback),
      committed: () => inner.committed(),
    };
  }

  /** A term of the lane ended: what was under way is forgotten, and read again. */
  forget(): void {
    this.offered = 0;
    this.settledOnce = 0;
    this.losses.forget();
    this.inFlight.forget();
    this.singles.clear();
    for (const account of this.accounts.values()) account.unsettledRows = 0;
  }

  private watched(item: IngestItem): IngestItem {
    this.losses.lookAtClock();
    if (item.kind === 'watermarks') {
      this.losses.mark(item);
      this.inFlight.mark(item);
      if (item.event === 'live') for (const accountId of item.accountIds) this.live(`${item.stream}:${accountId}`);
      return item;
    }
    this.offered += 1;
    if (item.kind === 'unreadable') this.losses.unreadable(this.named(item));
    const account = this.isOfList(item) ? this.account(`${item.view.stream}:${item.view.accountId}`) : undefined;
    if (account !== undefined) account.unsettledRows += 1;
    let ends = 0;
    const { onResult } = item;
    return {
      ...item,
      onResult: (result) => {
        ends += 1;
        if (ends > 1) this.seen.push('an observation was settled twice');
        this.settledOnce += 1;
        if (account !== undefined) account.unsettledRows -= 1;
        onResult?.(result);
      },
    };
  }

  /** Where no frame names its account, it is that of the session. */
  private named(item: Unreadable): Unreadable {
    if (item.accountId !== undefined || traits[item.stream].namesAccount) return item;
    return { ...item, accountId: this.reading.slice(item.stream.length + 1) };
  }

  private isOfList(item: IngestItem): item is Observation {
    if (item.kind !== 'order' || item.cause !== 'snapshot' || item.overrules !== undefined) return false;
    const key = `${item.view.stream}:${item.view.orderId}`;
    const single = this.singles.get(key) ?? 0;
    if (single > 0) this.singles.set(key, single - 1);
    return single === 0;
  }

  private live(name: string): void {
    const { sockets, listBeganMs, unsettledRows, wasAcknowledged } = this.account(name);
    if (!wasAcknowledged) this.seen.push(`${name} is live, and no subscription of it was ever acknowledged`);
    // A newer one that ended with its acknowledgement took over from none (seed 12059).
    const coveredSinceMs = newestOf(sockets);
    this.lives += 1;
    if (coveredSinceMs !== undefined && (listBeganMs ?? -1) < coveredSinceMs) {
      this.seen.push(
        `${name} is live though no list began behind the subscription of ${coveredSinceMs} (${listBeganMs})`,
      );
    }
    this.inFlight.read(name, listBeganMs ?? 0);
    if (unsettledRows > 0) this.seen.push(`${name} is live with ${unsettledRows} rows of lists not settled`);
  }

  private answered(asked: AskedRead, began: Began, answer: HttpResult): void {
    const { stream, accountId, orderId } = asked;
    const { beganMs } = began;
    if (orderId !== undefined) {
      this.singles.set(`${stream}:${orderId}`, (this.singles.get(`${stream}:${orderId}`) ?? 0) + 1);
      this.losses.answered(stream, accountId, beganMs, orderId);
      return;
    }
    const page = this.reads.page(asked, answer);
    if (page?.next !== undefined) this.lists.goesOn(asked, page.next, began);
    else if (page !== undefined) {
      // Two lists of one account may be read side by side: one that
      // began earlier may end later (seed 10875).
      const account = this.account(`${stream}:${accountId}`);
      const wholeMs = this.wholeSince(account, asked, began);
      if (wholeMs === undefined) return;
      account.listBeganMs = Math.max(account.listBeganMs ?? wholeMs, wholeMs);
      this.losses.answered(stream, accountId, wholeMs);
    }
  }

  /**
   * When a read began that showed the whole account. By creation, one list has what is open, and
   * another what is new: the read is as old as the older of them.
   */
  private wholeSince({ parts }: Account, { stream, state }: AskedRead, { beganMs, after }: Began): number | undefined {
    const sinceMs = after === undefined ? Number.NEGATIVE_INFINITY : Date.parse(after);
    const isWhole = state === 'all' && sinceMs < this.clock.nowMs() - horizonMs;
    if (isWhole || traits[stream].lists === 'by_change') return beganMs;
    parts.set(state, Math.max(beganMs, parts.get(state) ?? beganMs));
    return parts.size < 2 ? undefined : Math.min(...parts.values());
  }

  private account(name: string): Account {
    let account = this.accounts.get(name);
    if (account === undefined) {
      account = {
        sockets: new Map(),
        wasAcknowledged: false,
        listBeganMs: undefined,
        parts: new Map(),
        unsettledRows: 0,
      };
      this.accounts.set(name, account);
    }
    return account;
  }
}

const newestOf = (sockets: ReadonlyMap<MemorySocket, number>) => [...sockets.values()].at(-1);
