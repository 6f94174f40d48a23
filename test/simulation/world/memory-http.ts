import type { Clock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { Exchange } from '../../../src/sandbox/exchange/exchange.ts';
import type { Stream } from '../../../src/sandbox/exchange/exchange-order.ts';
import { happens } from '../../../src/sandbox/market/instruments.ts';
import { getOrder, listOrders, readListQuery } from '../../../src/sandbox/rest/order-routes.ts';
import type { Http, HttpRequest, HttpResult } from '../../../src/venue/http.ts';
import { type ListState, ordersPath, predictionOrdersPath } from '../../../src/venue/platform/wire/order-pages.ts';
import { accountsPath } from '../../../src/venue/platform/wire/user.ts';
import type { Host } from '../host.ts';
import { noReadFaults, type ReadFaults } from '../plan/stream-faults.ts';
import type { BareViews } from '../planted/bare-views.ts';
import type { MemoryTokens } from './memory-tokens.ts';

/** A list whose last page was answered as it should be. Times are monotonic, of the world. */
export interface CompleteList {
  /** Which process asked for it. */
  readonly from: string;
  readonly stream: Stream;
  readonly accountId: string;
  /** It shows orders with this reference alone. */
  readonly reference: string | undefined;
  readonly state: ListState;
  /** It shows what has changed later than this. */
  readonly changedSinceMs: number;
  /** When its first page was asked for. */
  readonly beganMs: number;
}

interface MemoryHttpDeps {
  readonly exchange: Exchange;
  readonly tokens: MemoryTokens;
  readonly clock: Clock;
  readonly random: Random;
  readonly bare: BareViews;
}

const names = {
  account: { reference: 'clOrdId', state: 'status' },
  prediction: { reference: 'clientOrderRef', state: 'state' },
} as const;

/**
 * The platform's REST side in memory, without a socket: accounts, both lists, both gets. Each
 * request takes a moment both ways, and ends within 10 s.
 */
export class MemoryHttp {
  faults: ReadFaults = noReadFaults;
  down = false;
  /**
   * When an account's store was lost, by the world's monotonic time:
   * nothing from before it can be shown after it.
   */
  readonly storeLostMs = new Map<string, number>();
  readonly completeLists: CompleteList[] = [];
  /** When the list began whose next page has this address. */
  private readonly listsBegan = new Map<string, number>();
  /** Rows of a page at most, whatever is asked for. */
  pageSize = 500;
  private readonly deps: MemoryHttpDeps;

  constructor(deps: MemoryHttpDeps) {
    this.deps = deps;
  }

  client(host: Host): Http {
    return {
      request: (request) => host.answer(abortable(this.handle(request, host.name), request.signal)),
      close: async () => undefined,
    };
  }

  private async handle(request: HttpRequest, from: string): Promise<HttpResult> {
    const { clock, random } = this.deps;
    const { faults } = this;
    const slow = happens(random, faults.slow);
    const beganMs = clock.monotonicMs();
    await clock.sleep(slow ? random.next() * 5000 : 0.2 + random.next() * 3);
    if (this.down) return { kind: 'failed', code: 'connect', message: 'refused', sent: 'no' };
    const whole = this.answer(request);
    const answer = whole.kind === 'answered' ? { ...whole, text: this.deps.bare.of(whole.text) } : whole;
    await clock.sleep(slow ? random.next() * 4000 : 0.2 + random.next() * 3);
    if (happens(random, faults.broken)) return { kind: 'failed', code: 'broken', message: 'reset', sent: 'maybe' };
    if (happens(random, faults.refused))
      return reply(503, '{"error":{"type":"unavailable","code":"BUSY","message":"busy"}}');
    if (happens(random, faults.foreignBody)) return reply(200, '<html>hello</html>');
    this.note({ url: request.url, from, beganMs }, answer);
    return answer;
  }

  private note(page: { readonly url: string; readonly from: string; readonly beganMs: number }, answer: HttpResult) {
    const { pathname, searchParams } = new URL(page.url);
    const stream: Stream = pathname === predictionOrdersPath ? 'prediction' : 'account';
    const isList = pathname === ordersPath || pathname === predictionOrdersPath;
    if (!isList || answer.kind !== 'answered' || answer.status !== 200) return;
    const query = readListQuery(Object.fromEntries(searchParams), names[stream]);
    if ('fault' in query) return;
    const cursor = searchParams.get('cursor');
    searchParams.delete('cursor');
    const list = `${page.from} ${pathname}?${searchParams}`;
    const beganMs = cursor === null ? page.beganMs : this.listsBegan.get(`${list} ${cursor}`);
    const next = /"nextCursor":"([^"]*)"/.exec(answer.text)?.[1];
    if (beganMs === undefined) return;
    if (next === undefined) {
      const { accountId, reference, state } = query;
      const changedSinceMs = this.sinceOf(searchParams.get('updatedAfter'));
      this.completeLists.push({ from: page.from, stream, accountId, reference, state, changedSinceMs, beganMs });
    } else {
      // Two lists side by side may have the same cursor, as in coverage-watch.ts.
      const began = this.listsBegan.get(`${list} ${next}`) ?? beganMs;
      this.listsBegan.set(`${list} ${next}`, Math.max(beganMs, began));
    }
  }

  private sinceOf(updatedAfter: string | null): number {
    const { clock } = this.deps;
    if (updatedAfter === null) return Number.NEGATIVE_INFINITY;
    return Date.parse(updatedAfter) - clock.nowMs() + clock.monotonicMs();
  }

  private answer({ url, headers }: HttpRequest): HttpResult {
    const { exchange, tokens } = this.deps;
    const credential = headers['authorization'];
    const token = credential instanceof Secret ? credential.reveal().slice('Bearer '.length) : '';
    if (!tokens.isGood(token)) return failure(401, 'UNAUTHORIZED');
    const { pathname, searchParams } = new URL(url);
    if (pathname === accountsPath) return reply(200, this.accounts());
    const stream: Stream = pathname.startsWith(predictionOrdersPath) ? 'prediction' : 'account';
    const account = exchange.accounts.get(searchParams.get('accountId') ?? '');
    if (account === undefined || (stream === 'prediction' && !account.predictions)) return failure(403, 'FORBIDDEN');
    const path = stream === 'prediction' ? predictionOrdersPath : ordersPath;
    const lagMs = this.lagMs(account.id);
    if (pathname !== path) {
      const row = getOrder({ exchange }, account, stream, decodeURIComponent(pathname.slice(path.length + 1)), lagMs);
      return row === undefined ? failure(404, 'NOT_FOUND') : reply(200, wrapped(stream, row));
    }
    const query = readListQuery(Object.fromEntries(searchParams), names[stream]);
    if ('fault' in query) return failure(400, query.fault);
    const limit = Math.min(query.limit, this.pageSize);
    return reply(200, wrapped(stream, listOrders({ exchange }, account, stream, { ...query, limit }, lagMs)));
  }

  private lagMs(accountId: string): number {
    const sinceLossMs = this.deps.clock.monotonicMs() - (this.storeLostMs.get(accountId) ?? Number.NEGATIVE_INFINITY);
    // A millisecond behind the loss: at the same one the list would still show what was before,
    // under a version that is not given yet.
    return Math.floor(Math.max(0, Math.min(this.deps.random.next() * this.faults.lagMs, sinceLossMs - 1)));
  }

  /** Accounts that the list of accounts leaves out, though it says that it is complete. */
  readonly unlisted = new Set<string>();

  private accounts(): string {
    const accounts = [...this.deps.exchange.accounts.values()].filter(
      ({ id, traded }) => traded && !this.unlisted.has(id),
    );
    return JSON.stringify({
      accounts: accounts.map(({ id, status }) => ({ trading_account_id: id, status, is_sim: true })),
    });
  }
}

function reply(status: number, text: string): HttpResult {
  return { kind: 'answered', status, headers: {}, text };
}

function failure(status: number, code: string): HttpResult {
  return reply(status, JSON.stringify({ error: { type: 'any', code, message: code } }));
}

function wrapped(stream: Stream, row: string): string {
  return stream === 'prediction' ? `{"success":true,"data":${row}}` : row;
}

/** Given up by the caller: the answer goes nowhere. */
function abortable(work: Promise<HttpResult>, signal: AbortSignal | undefined): Promise<HttpResult> {
  if (signal === undefined) return work;
  return new Promise((resolve) => {
    const abort = () => resolve({ kind: 'failed', code: 'aborted', message: 'given up', sent: 'maybe' });
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    void work.then((result) => {
      signal.removeEventListener('abort', abort);
      resolve(result);
    });
  });
}
