import type { Clock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import type { Exchange } from '../../../src/sandbox/exchange/exchange.ts';
import { happens } from '../../../src/sandbox/market/instruments.ts';
import type { Http, HttpRequest, HttpResult } from '../../../src/venue/http.ts';
import type { Host } from '../host.ts';
import { noReadFaults, type ReadFaults } from '../plan/stream-faults.ts';
import type { BareViews } from '../planted/bare-views.ts';
import { PagedLists } from '../venues/paged-lists.ts';
import type { AskedRead, SimulatedVenue } from '../venues/simulated-venue.ts';
import type { MemoryTokens } from './memory-tokens.ts';
import type { RequestLimit } from './request-limit.ts';

/** A list whose last page was answered as it should be. Times are monotonic, of the world. */
export interface CompleteList extends Pick<AskedRead, 'stream' | 'accountId' | 'reference' | 'state'> {
  /** Which process asked for it. */
  readonly from: string;
  /** It shows what has changed later than this, or was made so. */
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
  readonly limit: RequestLimit;
  readonly venue: Pick<SimulatedVenue, 'reads'>;
}

/**
 * A venue's REST side in memory, without a socket: accounts, lists, single orders. Each request
 * takes a moment both ways, and ends within 10 s.
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
  private readonly lists = new PagedLists();
  /** Rows of a page at most, whatever is asked for. */
  pageSize = 500;
  /** Accounts that the list of accounts leaves out, though it says that it is complete. */
  readonly unlisted = new Set<string>();
  private readonly deps: MemoryHttpDeps;

  constructor(deps: MemoryHttpDeps) {
    this.deps = deps;
  }

  client(host: Host): Http {
    const { limit, venue } = this.deps;
    const ask = (request: HttpRequest) => host.answer(abortable(this.handle(request, host.name), request.signal));
    return {
      request: (request) => limit.asked(host, venue.reads.keyOf?.(request.headers), () => ask(request)),
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
    const { limit, venue } = this.deps;
    const whole = limit.counted(venue.reads.keyOf?.(request.headers), tooMany, () => this.answer(request));
    const answer = whole.kind === 'answered' ? { ...whole, text: this.deps.bare.of(whole.text) } : whole;
    await clock.sleep(slow ? random.next() * 4000 : 0.2 + random.next() * 3);
    if (happens(random, faults.broken)) return { kind: 'failed', code: 'broken', message: 'reset', sent: 'maybe' };
    const { reads } = venue;
    if (happens(random, faults.refused)) return reads.busy(random);
    if (happens(random, faults.foreignBody)) return reads.garbled(random, answer);
    this.note(request, { from, beganMs }, answer);
    return answer;
  }

  private note(request: HttpRequest, { from, beganMs }: { from: string; beganMs: number }, answer: HttpResult): void {
    const { reads } = this.deps.venue;
    const asked = reads.asked(request);
    const page = asked?.orderId === undefined ? asked && reads.page(asked, answer) : undefined;
    if (asked === undefined || page === undefined) return;
    const list = { ...asked, list: `${from} ${asked.list}` };
    const began = this.lists.of(list, beganMs);
    if (page.next !== undefined) {
      this.lists.goesOn(list, page.next, began);
      return;
    }
    const { stream, accountId, reference, state } = asked;
    const changedSinceMs = this.sinceOf(began.after);
    this.completeLists.push({
      ...{ from, stream, accountId, state, changedSinceMs, beganMs: began.beganMs },
      ...(reference !== undefined && { reference }),
    });
  }

  private sinceOf(after: string | undefined): number {
    const { clock } = this.deps;
    if (after === undefined) return Number.NEGATIVE_INFINITY;
    return Date.parse(after) - clock.nowMs() + clock.monotonicMs();
  }

  private answer(request: HttpRequest): HttpResult {
    const { exchange, tokens, venue, clock } = this.deps;
    const { pageSize, unlisted } = this;
    const lagMs = (accountId: string) => this.lagMs(accountId);
    return venue.reads.answer(request, { exchange, tokens, pageSize, unlisted, lagMs, nowMs: () => clock.nowMs() });
  }

  private lagMs(accountId: string): number {
    const sinceLossMs = this.deps.clock.monotonicMs() - (this.storeLostMs.get(accountId) ?? Number.NEGATIVE_INFINITY);
    // A millisecond behind the loss: at the same one the list would still show what was before,
    // under a version that is not given yet.
    return Math.floor(Math.max(0, Math.min(this.deps.random.next() * this.faults.lagMs, sinceLossMs - 1)));
  }
}

/** As Alpaca says it. */
export const tooMany: HttpResult = {
  ...{ kind: 'answered', status: 429, headers: {}, text: '{"code":42910000,"message":"too many requests."}' },
};

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
