import type { Stream } from '../../../src/domain/order.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import type { EntryDeps, Refusal, Write } from '../../../src/sandbox/entry/write.ts';
import type { Exchange } from '../../../src/sandbox/exchange/exchange.ts';
import type {
  ExchangeAccount,
  ExchangeOrder,
  Stream as ExchangeStream,
} from '../../../src/sandbox/exchange/exchange-order.ts';
import type { VenueWords } from '../../../src/sandbox/exchange/venue-words.ts';
import type { MarketOptions } from '../../../src/sandbox/market/market.ts';
import type { VenueOrderEntry } from '../../../src/service/run/order-entry.ts';
import type { StreamUrls } from '../../../src/service/sources/connectors.ts';
import type { HttpRequest, HttpResult } from '../../../src/venue/http.ts';
import type { OrderReads } from '../../../src/venue/order-reads.ts';
import type { ReadDeps } from '../../../src/venue/read-venue.ts';
import type { TokenSource } from '../../../src/venue/tokens.ts';
import type { Venue } from '../../../src/venue/venue.ts';
import type { WriteRequest } from '../../../src/venue/write-result.ts';
import type { Host } from '../host.ts';
import type { Spoil } from '../plan/garbage.ts';
import type { Surprise } from '../surprises.ts';
import type { MemorySocket } from '../world/memory-socket.ts';
import type { MemoryTokens } from '../world/memory-tokens.ts';
import type { hangs } from '../write-answers.ts';

/** A message of a client, as the stream takes it. Subscriptions are `<our stream>:<accountId>`. */
interface AskedOfStream {
  readonly answer: string;
  readonly joins?: string;
  readonly leaves?: string;
  /** The session has not begun: a process counts no such answer. */
  readonly signsIn?: true;
}

/** What the stream needs to know of the world. */
interface StreamWorld {
  readonly tokens: MemoryTokens;
  readonly account: (id: string) => ExchangeAccount | undefined;
}

/** How a venue speaks on its stream. */
export interface SimulatedStream {
  readonly heartbeat: string | undefined;
  /** It may end a subscription without being asked. */
  readonly endsSubscriptions: boolean;
  /** By the credential of the upgrade. */
  admits(socket: MemorySocket, tokens: MemoryTokens): boolean;
  /** A session may stay. */
  isGood(socket: MemorySocket, tokens: MemoryTokens): boolean;
  asked(socket: MemorySocket, text: string, world: StreamWorld): AskedOfStream;
  /** In place of an acknowledgement: the subscription is not in force. Undefined: nothing comes. */
  declined(random: Random): string | undefined;
  /** Before an event, something that the account's follower did not ask for. */
  intrude(socket: MemorySocket, name: string, text: string): void;
  /** Its credential is no longer good. */
  expel(socket: MemorySocket): void;
  readonly spoils: readonly Spoil[];
}

/** A read of one order, or a page of a list. */
export interface AskedRead {
  readonly stream: Stream;
  readonly accountId: string;
  /** Of a single order. */
  readonly orderId?: string;
  /** Only orders with this reference. */
  readonly reference?: string;
  readonly state: 'open' | 'closed' | 'all';
  /** Only what changed, or was made, later. ISO 8601. */
  readonly after?: string;
  /** Rows of a page; left out: its cursor says whether there is another one. */
  readonly limit?: number;
  /** The list without its page. */
  readonly list: string;
  readonly cursor: string | undefined;
}

/** How lists and orders of this moment are shown. */
export interface Showing {
  readonly exchange: Exchange;
  readonly tokens: MemoryTokens;
  readonly pageSize: number;
  readonly unlisted: ReadonlySet<string>;
  readonly lagMs: (accountId: string) => number;
  /** The venue's wall time. */
  readonly nowMs: () => number;
}

/** A venue's REST side. */
export interface SimulatedReads {
  /** Where its requests are counted: by this. */
  keyOf?(headers: HttpRequest['headers']): string | undefined;
  answer(request: HttpRequest, showing: Showing): HttpResult;
  /** It answers no more than that it is in trouble. */
  busy(random: Random): HttpResult;
  /** An answer that is not what it should be. */
  garbled(random: Random, answer: HttpResult): HttpResult;
  /** Undefined: it asks for no orders. */
  asked(request: HttpRequest): AskedRead | undefined;
  /** The cursor of the page behind this one. Undefined: the answer is no page. */
  page(asked: AskedRead, answer: HttpResult): { readonly next: string | undefined } | undefined;
}

/** A venue's order entry. */
export interface SimulatedEntry {
  isGood(request: WriteRequest, tokens: MemoryTokens): boolean;
  readonly unauthorized: HttpResult;
  understand(deps: EntryDeps, request: WriteRequest): Write | Refusal;
  refusal(refusal: Refusal): HttpResult;
  /** Nothing can be concluded from it. `body`: the right one, `other`: of another order. */
  spoiled(
    random: Random,
    asked: Write,
    { body, other }: { readonly body: string | undefined; readonly other: string | undefined },
  ): HttpResult | typeof hangs;
}

/** One process's credentials. */
export interface KnownLogins {
  /** By the login's name. */
  readonly logins: ReadonlyMap<string, TokenSource>;
  /** As they are ahead of expiry. */
  renewAhead(): void;
}

/**
 * A venue as the simulator plays it: what it says and understands, and how the service reaches it.
 * The exchange and its market behind it, all faults and all oracles are those of every venue.
 */
export interface SimulatedVenue {
  readonly name: 'platform' | 'alpaca';
  /** Our name for a stream of its exchange. */
  streamOf(stream: ExchangeStream): Stream;
  readonly words: VenueWords;
  readonly market: Partial<MarketOptions>;
  readonly answersEveryOrder: boolean;
  /** After each change of the exchange. */
  changed(entry: EntryDeps, order: ExchangeOrder, step: string): void;
  /** It takes only symbols that its market trades. */
  readonly knowsSymbols: boolean;
  readonly hasPredictions: boolean;
  /** An account has a key pair, which a user may link, or remove, while processes run. */
  readonly hasKeys: boolean;
  /** A login has a list of accounts, which may leave one out. */
  readonly listsAccounts: boolean;
  /** An account of a key pair of before: the database knows it, and no login lists it. */
  readonly formerAccount: string | undefined;
  readonly stream: SimulatedStream;
  readonly reads: SimulatedReads;
  readonly entry: SimulatedEntry;
  /** Those that it may cause. */
  readonly surprises: readonly Surprise[];
  /** What we must show of an order; undefined: must be absent. */
  expected(order: ExchangeOrder): Readonly<Record<string, string | undefined>>;

  readonly venue: Venue;
  readonly streamUrls: StreamUrls;
  credentials(deps: {
    readonly host: Host;
    readonly world: Clock;
    readonly tokens: MemoryTokens;
    readonly accountIds: readonly string[];
  }): KnownLogins;
  /** The login that lists the account. */
  loginOf(accountId: string): string;
  /** `pageRows`: of a page at most. */
  orderReads(deps: ReadDeps, pageRows: number): OrderReads;
  orderEntry(deps: ConstructorParameters<typeof VenueOrderEntry>[0]): Pick<VenueOrderEntry<never>, 'send'>;
}
