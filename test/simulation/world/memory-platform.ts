import { orderKey } from '../../../src/domain/order.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { Exchange } from '../../../src/sandbox/exchange/exchange.ts';
import type { ExchangeAccount } from '../../../src/sandbox/exchange/exchange-order.ts';
import { type ExchangeOrder, isClosed } from '../../../src/sandbox/exchange/exchange-order.ts';
import { correctFill } from '../../../src/sandbox/exchange/venue-steps.ts';
import { whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { Uncertainty } from '../../../src/sandbox/faults/uncertainty.ts';
import { below, happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import { Market } from '../../../src/sandbox/market/market.ts';
import { seedOrders } from '../../../src/sandbox/market/seed-orders.ts';
import { EnteredOrders } from '../entered-orders.ts';
import type { CrashPoints } from '../plan/crash-points.ts';
import { noReadFaults, noStreamFaults } from '../plan/stream-faults.ts';
import { noWriteFaults } from '../plan/write-faults.ts';
import { BareViews } from '../planted/bare-views.ts';
import { type Surprise, Surprises } from '../surprises.ts';
import type { Trace } from '../trace.ts';
import type { SimulatedVenue } from '../venues/simulated-venue.ts';
import { WriteLedger } from '../write-ledger.ts';
import { MemoryEntry } from './memory-entry.ts';
import { MemoryHttp } from './memory-http.ts';
import { MemoryStream } from './memory-stream.ts';
import { MemoryTokens } from './memory-tokens.ts';
import { RequestLimit } from './request-limit.ts';

interface PlatformDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** What is drawn for orders that come in through order entry. */
  readonly entryRandom: Random;
  readonly bareRandom: Random;
  /** What is drawn for a store that is lost again. */
  readonly lossRandom: Random;
  readonly surpriseRandom: Random;
  readonly legsRandom: Random;
  readonly trace: Trace;
  readonly points: CrashPoints;
  readonly venue: SimulatedVenue;
}

export interface PlatformOptions {
  readonly accounts: number;
  readonly openOrders: number;
  readonly knownOrders: number;
  readonly predictionShare: number;
  /** The beginning of its accounts' ids. */
  readonly named?: string;
}

const lagKeptMs = 20_000;
/** A store that is lost again is so within this time. */
const againWithinMs = 20_000;

/**
 * A venue's truth in memory, for the simulator and for `CommandWorld`. The sandbox's own
 * exchange and market make it (versions beyond 2^53 and with gaps, partial fills, cancels,
 * expiries, rejects, replaces, sessions, corrections, uncertainty, a lost store); what the service
 * sees of it goes through `stream` and `http`, which lie as told.
 */
export class MemoryPlatform {
  readonly exchange: Exchange;
  readonly stream: MemoryStream;
  readonly http: MemoryHttp;
  readonly entry: MemoryEntry;
  readonly bare: BareViews;
  readonly limit: RequestLimit;
  readonly surprises: Surprises;
  /** The orders that came in through order entry, and what became of every request. */
  readonly entered: EnteredOrders;
  readonly ledger: WriteLedger;
  readonly tokens = new MemoryTokens();
  readonly venue: SimulatedVenue;
  /** Orders from before are in lists alone. */
  readonly beganAtUs: number;
  /** Accounts whose store was lost. */
  readonly storesLost = new Set<string>();
  /** Ids that were given again, by the key of the order. */
  readonly reused = new Set<string>();
  /** Orders whose fills were taken back. */
  readonly corrected = new Set<ExchangeOrder>();
  private readonly gapUntilMs = new Map<string, number>();
  private readonly market: Market;
  private readonly uncertainty: Uncertainty;
  private readonly clock: Clock;
  private readonly random: Random;
  private readonly lossRandom: Random;
  private readonly trace: Trace;
  private healed = false;

  constructor(deps: PlatformDeps, options: PlatformOptions) {
    const { clock, random, entryRandom, trace, points, venue } = deps;
    this.venue = venue;
    this.clock = clock;
    this.beganAtUs = clock.nowMs() * 1000;
    this.random = random;
    this.lossRandom = deps.lossRandom;
    this.trace = trace;
    this.exchange = new Exchange(
      { clock, onChange: (order, step) => this.changed(order, step), rowOf: venue.words.row },
      { maxOrders: 100_000 },
    );
    this.exchange.keepHistory(lagKeptMs);
    for (let i = 1; i <= options.accounts; i += 1) {
      const predictions = venue.hasPredictions && i !== 2;
      this.exchange.addAccount({
        id: `${options.named ?? 'acct'}-${i}`,
        owner: 'desk',
        traded: true,
        predictions,
        status: 'OPEN',
      });
    }
    const account = (id: string) => this.exchange.accounts.get(id);
    this.bare = new BareViews(deps.bareRandom);
    const { bare } = this;
    this.stream = new MemoryStream({ clock, random, tokens: this.tokens, account, trace, bare, venue });
    this.limit = new RequestLimit(clock);
    const { limit } = this;
    this.http = new MemoryHttp({ exchange: this.exchange, tokens: this.tokens, clock, random, bare, limit, venue });
    this.market = new Market({ exchange: this.exchange, random, clock }, { ...options, ...venue.market });
    this.uncertainty = new Uncertainty({ exchange: this.exchange, clock });
    const { exchange, tokens, market, corrected } = this;
    const { surpriseRandom, legsRandom } = deps;
    this.surprises = new Surprises({ exchange, market, corrected, clock, random: surpriseRandom, legsRandom });
    const nextVenueOrderId = () => market.nextVenueOrderId();
    const { answersEveryOrder, knowsSymbols } = venue;
    const instruments = knowsSymbols ? market.inventor.equities : [];
    const ofEntry = { exchange, clock, random: entryRandom, nextVenueOrderId };
    this.entered = new EnteredOrders({ ...ofEntry, answersEveryOrder, instruments });
    this.ledger = new WriteLedger(clock);
    const { ledger } = this;
    const { entry } = this.entered;
    ledger.onTaken = (order) => {
      this.surprises.placed(order);
      if (this.entered.has(order)) return;
      market.release(order);
      this.entered.adopt(order);
    };
    const madeFor = { entry, tokens, ledger, points, clock, random: entryRandom, trace, bare, limit, venue };
    this.entry = new MemoryEntry(madeFor);
    if (options.knownOrders > 0) {
      const { knownOrders, openOrders } = options;
      seedOrders(
        { exchange: this.exchange, market: this.market, random, clock },
        { knownOrders, openOrders: openOrders >> 1 },
      );
    }
  }

  get accounts(): ExchangeAccount[] {
    return [...this.exchange.accounts.values()];
  }

  /** As we name it. */
  keyOf({ terms: { stream, orderId } }: ExchangeOrder): string {
    return orderKey(this.venue.streamOf(stream), orderId);
  }

  /** One change of one order, or of two. */
  step(): void {
    this.market.step();
  }

  /** A trade of an account order is taken back, if there is one with fills. */
  correct(random = this.random, fits: (order: ExchangeOrder) => boolean = () => true): void {
    const filled = [...this.exchange.orders.values()].filter(
      (order) => order.terms.stream === 'account' && order.cumQty > whole(1) && fits(order),
    );
    if (filled.length === 0) return;
    const order = oneOf(random, filled);
    this.market.release(order);
    this.corrected.add(order);
    const units = Number(order.cumQty / whole(1));
    correctFill(this.exchange, order, whole(below(random, units)));
    if (!isClosed(order.state) && !this.entered.has(order)) this.market.adopt(order);
  }

  /** One of an order that ended and stays so, and no frame tells of it. */
  correctUnseen(random: Random): void {
    const { stream } = this;
    const { faults } = stream;
    stream.faults = { ...faults, silentLoss: 1 };
    this.correct(random, ({ state }) => isClosed(state) && state !== 'filled');
    stream.faults = faults;
  }

  /**
   * The order session of an account had a gap: its open prediction orders are unknown for a while.
   */
  gap(forMs: number): void {
    const account = this.drawEnrolled();
    if (account === undefined || this.storesLost.has(account.id)) return;
    this.uncertainty.gap(account, forMs);
    this.gapUntilMs.set(account.id, Math.max(this.gapUntilMs.get(account.id) ?? 0, this.clock.monotonicMs() + forMs));
  }

  /**
   * The store of an account's prediction orders is lost, and half the time once more soon
   * after, as by a platform that crashes again and again; it says so until
   * `restoreCertainty`. Only with an open order that can say so: versions that start again
   * without a word are nothing that a reader could know.
   */
  loseStore(): void {
    const account = this.drawEnrolled();
    if (account === undefined || this.storesLost.has(account.id) || !this.loseStoreOf(account)) return;
    const { clock, lossRandom } = this;
    if (happens(lossRandom, 0.5)) return;
    // Mostly within the second or two in which the first is dealt with.
    const gapMs = 2 * againWithinMs ** lossRandom.next();
    // Not certain again in between: where no order is left to tell of the second loss, nothing
    // would tell of the first either.
    clock.after(gapMs, () => {
      if (!this.healed) this.loseStoreOf(account);
    });
  }

  /** False: no open order could say so. */
  private loseStoreOf(account: ExchangeAccount): boolean {
    const open = [...this.exchange.orders.values()].filter(
      ({ terms, state }) => terms.account === account && terms.stream === 'prediction' && !isClosed(state),
    );
    const forgotten = below(this.random, 2);
    // A gap that ends would call certain what a lost store has not said yet.
    if (open.length <= forgotten || this.clock.monotonicMs() <= (this.gapUntilMs.get(account.id) ?? -1)) return false;
    this.storesLost.add(account.id);
    this.http.storeLostMs.set(account.id, this.clock.monotonicMs());
    this.uncertainty.storeLost(account, 1e9, forgotten);
    for (const order of open) if (!this.exchange.orders.has(order.terms.orderId)) this.market.release(order);
    this.trace.add('platform', 'loses the store of', account.id);
    return true;
  }

  /**
   * What was shown of this account order may be taken back: the order was corrected, or the
   * instants do not tell which of two views is the newer one.
   */
  takesBack(orderId: string): boolean {
    const order = this.exchange.orders.get(orderId);
    return this.bare.coarse || this.bare.setBack !== undefined || (order !== undefined && this.corrected.has(order));
  }

  /** Orders that say that their store was lost. */
  lostOrders(): ExchangeOrder[] {
    return [...this.exchange.orders.values()].filter(({ certainty }) => certainty === 'unknown_store_lost');
  }

  /** From now on the platform surprises in these ways, too. */
  beginSurprises(kinds: ReadonlySet<Surprise>): void {
    this.surprises.kinds = new Set(this.venue.surprises.filter((kind) => kinds.has(kind)));
    this.bare.coarse = kinds.has('coarse');
    this.bare.withLegs = kinds.has('legs');
  }

  /** Everything is known again. */
  restoreCertainty(): void {
    this.uncertainty.restoreAll();
  }

  /** An account closes, or opens again. */
  toggleAccount(): void {
    const account = oneOf(this.random, this.accounts);
    account.status = account.status === 'OPEN' ? 'CLOSED' : 'OPEN';
    this.trace.add('platform', 'account', `${account.id} ${account.status}`);
  }

  heal(): void {
    this.healed = true;
    this.stream.faults = noStreamFaults;
    this.stream.congested = 0;
    this.http.faults = noReadFaults;
    this.entry.faults = noWriteFaults;
    this.bare.share = 0;
    this.limit.heal();
    this.surprises.kinds = new Set();
    this.stream.down = this.http.down = this.entry.down = this.tokens.loginRequired = false;
    for (const account of this.accounts) account.status = 'OPEN';
    // A half-open connection is not healed by anything but its own end;
    // that it is found out is for the service.
  }

  private drawEnrolled(): ExchangeAccount | undefined {
    const enrolled = this.accounts.filter(({ predictions }) => predictions);
    return enrolled.length === 0 ? undefined : oneOf(this.random, enrolled);
  }

  private changed(order: ExchangeOrder, step: string): void {
    this.trace.add(
      'platform',
      step,
      `${order.terms.account.id} ${this.keyOf(order)} v${order.version} cum ${order.cumQty} ${order.state}`,
    );
    this.bare.changed(order);
    this.entered.changed(order, step);
    this.ledger.changed(order, step);
    this.stream.emit(order, step);
    this.venue.changed(this.entered.entry, order, step);
  }
}
