import type { IngestItem, Observation } from '../../../src/domain/observation.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { ObservationSink } from '../../../src/service/sources/observation-sink.ts';
import type { Http, HttpRequest } from '../../../src/venue/http.ts';
import { ordersPath, predictionOrdersPath } from '../../../src/venue/platform/wire/order-pages.ts';
import type { MemorySocket } from '../world/memory-socket.ts';
import { InFlightWatch } from './in-flight-watch.ts';
import { LossWatch } from './loss-watch.ts';

interface Account {
  /**
   * By socket, the oldest first: covered since. One may have taken over from
   * another, unless that one was dead already.
   */
  readonly sockets: Map<MemorySocket, number>;
  /** When the first request began of the newest list that was answered to its end. */
  listBeganMs: number | undefined;
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
  /** When the list began whose next page has this address. */
  private readonly listsBegan = new Map<string, number>();
  /**
   * Rows of single orders that were answered and not offered yet: they may
   * be read at any time, and are of no list.
   */
  private readonly singles = new Map<string, number>();
  readonly inFlight: InFlightWatch;
  private readonly losses: LossWatch;
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
    this.losses = new LossWatch(clock);
    this.inFlight = new InFlightWatch(clock);
  }

  get breaches(): string[] {
    return [...this.seen, ...this.losses.breaches, ...this.inFlight.breaches];
  }

  acknowledged(socket: MemorySocket, name: string): void {
    const { sockets } = this.account(name);
    const isFirst = [...sockets.keys()].every(({ silent }) => silent);
    sockets.set(socket, (isFirst ? undefined : newestOf(sockets)) ?? this.clock.monotonicMs());
  }

  left(socket: MemorySocket): void {
    this.inFlight.left(socket);
    for (const { sockets } of this.accounts.values()) sockets.delete(socket);
  }

  /** The way to the platform, with the lists that go over it noted. */
  http(inner: Http): Http {
    return {
      request: async (request) => {
        const asked = readOf(request);
        if (asked === undefined) return inner.request(request);
        const { cursor } = asked;
        const nowMs = this.clock.monotonicMs();
        const beganMs = cursor === undefined ? nowMs : (this.listsBegan.get(`${asked.list} ${cursor}`) ?? nowMs);
        const answer = await inner.request(request);
        if (answer.kind === 'answered' && answer.status === 200) this.answered(asked, beganMs, answer.text);
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
    if (item.kind === 'unreadable') this.losses.unreadable(item);
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

  private isOfList(item: IngestItem): item is Observation {
    if (item.kind !== 'order' || item.cause !== 'snapshot' || item.overrules !== undefined) return false;
    const key = `${item.view.stream}:${item.view.orderId}`;
    const single = this.singles.get(key) ?? 0;
    if (single > 0) this.singles.set(key, single - 1);
    return single === 0;
  }

  private live(name: string): void {
    const { sockets, listBeganMs, unsettledRows } = this.account(name);
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

  private answered({ stream, accountId, orderId, list }: AskedRead, beganMs: number, text: string): void {
    const next = /"nextCursor":"([^"]*)"/.exec(text)?.[1];
    if (orderId !== undefined) {
      this.singles.set(`${stream}:${orderId}`, (this.singles.get(`${stream}:${orderId}`) ?? 0) + 1);
      this.losses.answered(stream, accountId, beganMs, orderId);
    } else if (next !== undefined) {
      // Two lists side by side may have the same cursor, and the page of the older one may come
      // later (seeds 8897, 14883).
      const page = `${list} ${next}`;
      this.listsBegan.set(page, Math.max(beganMs, this.listsBegan.get(page) ?? beganMs));
    } else if (text.includes('"orders"')) {
      // Two lists of one account may be read side by side: one that
      // began earlier may end later (seed 10875).
      const account = this.account(`${stream}:${accountId}`);
      account.listBeganMs = Math.max(account.listBeganMs ?? beganMs, beganMs);
      this.losses.answered(stream, accountId, beganMs);
    }
  }

  private account(name: string): Account {
    let account = this.accounts.get(name);
    if (account === undefined) {
      account = {
        sockets: new Map(),
        listBeganMs: undefined,
        unsettledRows: 0,
      };
      this.accounts.set(name, account);
    }
    return account;
  }
}

const newestOf = (sockets: ReadonlyMap<MemorySocket, number>) => [...sockets.values()].at(-1);

interface AskedRead {
  readonly stream: string;
  readonly accountId: string;
  /** Of a single order. */
  readonly orderId?: string;
  /** The list without its page. */
  readonly list: string;
  readonly cursor: string | undefined;
}

/**
 * A read of one order, or of all orders of an account: a list
 * under a reference says nothing of the others.
 */
function readOf({ url }: HttpRequest): AskedRead | undefined {
  const { pathname, searchParams } = new URL(url);
  const path = [predictionOrdersPath, ordersPath].find((each) => pathname === each || pathname.startsWith(`${each}/`));
  if (path === undefined || searchParams.has('clOrdId') || searchParams.has('clientOrderRef')) return undefined;
  const stream = path === ordersPath ? 'account' : 'prediction';
  const accountId = searchParams.get('accountId') ?? '';
  const cursor = searchParams.get('cursor') ?? undefined;
  searchParams.delete('cursor');
  const about = { stream, accountId, list: `${pathname}?${searchParams}`, cursor };
  return pathname === path ? about : { ...about, orderId: decodeURIComponent(pathname.slice(path.length + 1)) };
}
