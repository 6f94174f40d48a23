import type { ObservationSink } from '../../src/connectors/observation-sink.ts';
import type { IngestItem } from '../../src/domain/observation.ts';
import type { Http, HttpRequest } from '../../src/platform/http.ts';
import { ordersPath, predictionOrdersPath } from '../../src/platform/wire/order-pages.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import type { MemorySocket } from './memory-socket.ts';

interface Account {
  /** Subscribed since: one socket may have taken over from another, unless that one was dead already. */
  coveredSinceMs: number | undefined;
  readonly sockets: Set<MemorySocket>;
  /** When the first request of the list began that has been answered to its end. */
  listBeganMs: number | undefined;
  lastListAskedMs: number | undefined;
  unsettledRows: number;
}

/**
 * One process's claims of completeness held against what it did (invariants.md 4 and 5): `live` only after a list that began behind the subscription was
 * read to its end and everything in it is settled; everything offered ends once.
 */
export class CoverageWatch {
  readonly breaches: string[] = [];
  offered = 0;
  settledOnce = 0;
  lives = 0;
  private readonly accounts = new Map<string, Account>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  acknowledged(socket: MemorySocket, name: string): void {
    const account = this.account(name);
    if ([...account.sockets].every(({ silent }) => silent)) account.coveredSinceMs = this.clock.monotonicMs();
    account.sockets.add(socket);
  }

  left(socket: MemorySocket): void {
    for (const account of this.accounts.values()) {
      if (account.sockets.delete(socket) && account.sockets.size === 0) account.coveredSinceMs = undefined;
    }
  }

  /** The way to the platform, with the lists that go over it noted. */
  http(inner: Http): Http {
    return {
      request: async (request) => {
        const list = this.listOf(request);
        if (list?.first === true) list.account.lastListAskedMs = this.clock.monotonicMs();
        const answer = await inner.request(request);
        const last = answer.kind === 'answered' && answer.status === 200 && !answer.text.includes('"nextCursor"');
        if (list !== undefined && last && answer.text.includes('"orders"')) {
          list.account.listBeganMs = list.account.lastListAskedMs;
        }
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
      settled: () => inner.settled(),
    };
  }

  /** A term of the lane ended: what was under way is forgotten, and read again. */
  forget(): void {
    this.offered = 0;
    this.settledOnce = 0;
    for (const account of this.accounts.values()) account.unsettledRows = 0;
  }

  private watched(item: IngestItem): IngestItem {
    if (item.kind === 'continuity') {
      if (item.event === 'live') this.live(`${item.stream}:${item.accountId}`);
      return item;
    }
    this.offered += 1;
    const account =
      item.kind === 'order' && item.cause === 'snapshot' ? this.account(`${item.view.stream}:${item.view.accountId}`) : undefined;
    if (account !== undefined) account.unsettledRows += 1;
    let ends = 0;
    const { onOutcome } = item;
    return {
      ...item,
      onOutcome: (outcome) => {
        ends += 1;
        if (ends > 1) this.breaches.push('an observation was settled twice');
        this.settledOnce += 1;
        if (account !== undefined) account.unsettledRows -= 1;
        onOutcome?.(outcome);
      },
    };
  }

  private live(name: string): void {
    const { coveredSinceMs, listBeganMs, unsettledRows } = this.account(name);
    this.lives += 1;
    if (coveredSinceMs !== undefined && (listBeganMs ?? -1) < coveredSinceMs) {
      this.breaches.push(`${name} is live though no list began behind the subscription of ${coveredSinceMs} (${listBeganMs})`);
    }
    if (unsettledRows > 0) this.breaches.push(`${name} is live with ${unsettledRows} rows of lists not settled`);
  }

  private listOf({ url }: HttpRequest): { account: Account; first: boolean } | undefined {
    const { pathname, searchParams } = new URL(url);
    if (pathname !== ordersPath && pathname !== predictionOrdersPath) return undefined;
    const stream = pathname === ordersPath ? 'account' : 'prediction';
    const account = this.account(`${stream}:${searchParams.get('accountId')}`);
    return { account, first: !searchParams.has('cursor') };
  }

  private account(name: string): Account {
    let account = this.accounts.get(name);
    if (account === undefined) {
      account = {
        coveredSinceMs: undefined,
        sockets: new Set(),
        listBeganMs: undefined,
        lastListAskedMs: undefined,
        unsettledRows: 0,
      };
      this.accounts.set(name, account);
    }
    return account;
  }
}
