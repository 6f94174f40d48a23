import type { Stream } from '../../../src/domain/order.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { Socket, SocketEnd, SocketFactory, SocketHandlers } from '../../../src/service/sources/socket.ts';
import type {
  AccountsResult,
  GetResult,
  ListRequest,
  ListResult,
  OrderReads,
  Page,
  PlatformAccount,
  TouchedResult,
} from '../../../src/venue/order-reads.ts';
import { eventText, type Row } from '../../../src/venue/platform/fixtures/rows.ts';
import type { StreamTopic } from '../../../src/venue/platform/wire/stream-messages.ts';
import type { PlatformError } from '../../../src/venue/platform-error.ts';
import type { AccessToken, TokenResult, TokenSource } from '../../../src/venue/tokens.ts';

type Subscription = 'acknowledge' | 'silent' | { readonly code: string } | { readonly afterMs: number };

/**
 * The platform at the ports of the connectors (reads, tokens, sockets): it shows and answers
 * what the test says. For tests of one step of the connectors. The simulator's
 * `MemoryPlatform` is a whole platform, whose orders change by themselves;
 * `ScriptedPlatformServer` is for the service as a process. On the clock of the test, with a
 * delay of 1 ms each way, so that the order of events is real.
 */
export class ScriptedPlatform implements OrderReads, TokenSource {
  readonly sockets: ScriptedSocket[] = [];
  /** Every list and get, as it was asked. */
  readonly lists: ListRequest[] = [];
  readonly gets: string[] = [];
  accounts: PlatformAccount[] = [];
  /** Items of the list of accounts without an id. */
  unreadableAccounts = 0;
  accountsError: PlatformError | undefined;
  /**
   * Rows of an account's lists, by `<stream>:<accountId>`; the list filters nothing but what the
   * test's `shows` leaves out.
   */
  readonly rows = new Map<string, Row[]>();
  shows: (row: Row, request: ListRequest) => boolean = () => true;
  listError: ((request: ListRequest) => PlatformError | undefined) | undefined;
  beforeList: ((request: ListRequest) => Promise<void>) | undefined;
  getError: ((orderId: string) => PlatformError | undefined) | undefined;
  beforeGet: ((orderId: string) => Promise<void>) | undefined;
  /** The answer about touched orders since then. Left out: it has no such read. */
  touched: ((after: string) => TouchedResult) | undefined;
  subscription: (stream: string, accountId: string) => Subscription = () => 'acknowledge';
  /** It sends a message beside each pong. */
  heartbeats = true;
  /** How an opening socket ends instead of opening. */
  refuse: SocketEnd | undefined;
  loginRequired = false;
  private generation = 1;
  private readonly renewed = new Set<(token: AccessToken) => void>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  openSocket: SocketFactory = (url, token, handlers) => {
    const socket = new ScriptedSocket(this, this.clock, url, token?.reveal() ?? '', handlers);
    this.sockets.push(socket);
    return socket;
  };

  get live(): ScriptedSocket[] {
    return this.sockets.filter((socket) => socket.state === 'open');
  }

  /** An event to every socket that subscribed the account. */
  emit(stream: StreamTopic, accountId: string, row: Row, version?: string | bigint): void {
    for (const socket of this.live) {
      if (socket.subscribed.has(`${stream}:${accountId}`)) socket.deliver(eventText(stream, accountId, row, version));
    }
  }

  async get(): Promise<TokenResult> {
    await this.clock.sleep(1);
    if (!this.loginRequired) return { ok: true, token: this.token() };
    return { ok: false, error: { code: 'LOGIN_REQUIRED', message: 'sign in', retryable: false, sent: 'yes' } };
  }

  async renew(rejected: number): Promise<TokenResult> {
    if (rejected === this.generation) this.renewToken();
    return this.get();
  }

  taken: TokenSource['taken'] = () => undefined;

  onRenewed(callback: (token: AccessToken) => void): () => void {
    this.renewed.add(callback);
    return () => this.renewed.delete(callback);
  }

  renewToken(): void {
    this.generation += 1;
    for (const callback of this.renewed) callback(this.token());
  }

  async listOrders(
    request: ListRequest,
    onPage: (page: Page) => Promise<void>,
    signal: AbortSignal,
  ): Promise<ListResult> {
    this.lists.push(request);
    await this.clock.sleep(1, signal);
    await this.beforeList?.(request);
    const error = this.listError?.(request);
    if (error !== undefined) return { complete: false, error };
    const rows = (this.rows.get(`${request.stream}:${request.accountId}`) ?? []).filter((row) =>
      this.shows(row, request),
    );
    for (let i = 0; i < rows.length; i += 500) await onPage({ rows: rows.slice(i, i + 500), bytes: 1_000 });
    return { complete: true, rows: rows.length };
  }

  async getOrder(stream: Stream, accountId: string, orderId: string, signal: AbortSignal): Promise<GetResult> {
    this.gets.push(orderId);
    await this.clock.sleep(1, signal);
    const row = this.rows.get(`${stream}:${accountId}`)?.find((each) => (each['ordId'] ?? each['orderId']) === orderId);
    await this.beforeGet?.(orderId);
    const error = this.getError?.(orderId);
    if (error !== undefined) return { kind: 'failed', error };
    return row === undefined ? { kind: 'absent' } : { kind: 'found', row, bytes: 500 };
  }

  async listAccounts(): Promise<AccountsResult> {
    await this.clock.sleep(1);
    if (this.accountsError !== undefined) return { complete: false, error: this.accountsError };
    const unreadable = this.unreadableAccounts;
    return { complete: true, accounts: [...this.accounts], ...(unreadable > 0 && { unreadable }) };
  }

  async touchedOrders({ after }: { readonly after: string }, signal: AbortSignal): Promise<TouchedResult> {
    await this.clock.sleep(1, signal);
    return this.touched?.(after) ?? { kind: 'absent' };
  }

  private token(): AccessToken {
    return {
      secret: new Secret(`t${this.generation}`),
      generation: this.generation,
      expiresAtMs: this.clock.nowMs() + 3_600_000,
    };
  }
}

/** The platform's end and ours of one socket. */
export class ScriptedSocket implements Socket {
  state: 'opening' | 'open' | 'ended' = 'opening';
  paused = false;
  pings = 0;
  /** Bytes still come, pings are answered: turn it off for a half-open connection. */
  answers = true;
  /** The wall times at which the pings left whose pongs were handed over, by our clock. */
  readonly ponged: number[] = [];
  /**
   * What becomes of a pong; as a rule it is handed over at once. Put in another for one that waits
   * behind other bytes, or never comes.
   */
  pong: (handOver: () => void) => void = (handOver) => handOver();
  readonly subscribed = new Set<string>();
  readonly url: string;
  readonly token: string;
  private bytes = 0;
  private readonly platform: ScriptedPlatform;
  private readonly clock: Clock;
  private readonly handlers: SocketHandlers;

  constructor(platform: ScriptedPlatform, clock: Clock, url: string, token: string, handlers: SocketHandlers) {
    this.platform = platform;
    this.clock = clock;
    this.url = url;
    this.token = token;
    this.handlers = handlers;
    clock.after(1, () => {
      if (this.state !== 'opening') return;
      if (platform.refuse !== undefined) return this.end(platform.refuse);
      this.state = 'open';
      handlers.onOpen();
    });
  }

  send(text: string): void {
    const { type, id, payload } = JSON.parse(text) as {
      type: string;
      id: string;
      payload: { topic: string; target: string };
    };
    const accountId = payload.target.slice('account:'.length);
    const name = `${payload.topic}:${accountId}`;
    if (type === 'unsubscribe') {
      this.subscribed.delete(name);
      return;
    }
    const verdict = this.platform.subscription(payload.topic, accountId);
    if (verdict === 'silent') return;
    const refused = typeof verdict === 'object' && 'code' in verdict ? verdict : undefined;
    if (refused === undefined) this.subscribed.add(name);
    const answer =
      refused === undefined
        ? { type: 'subscribed', id, payload }
        : { type: 'error', id, payload: { code: refused.code, message: 'refused' } };
    const afterMs = typeof verdict === 'object' && 'afterMs' in verdict ? verdict.afterMs : 1;
    this.clock.after(afterMs, () => this.deliver(JSON.stringify(answer)));
  }

  /** A frame from the platform, at once. */
  deliver(text: string): void {
    if (this.state !== 'open') return;
    this.bytes += text.length;
    this.handlers.onFrame(text);
  }

  /** Not of a ping of ours, unless the payload says so. */
  deliverPong(payload: string): void {
    if (this.state === 'open') this.handlers.onPong(payload);
  }

  /** The platform, or the network, ends it. */
  end(end: SocketEnd): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    this.handlers.onEnd(end);
  }

  ping(payload: string): void {
    this.pings += 1;
    if (!this.answers) return;
    const leftMs = this.clock.nowMs();
    this.clock.after(1, () => {
      this.bytes += 2;
      this.pong(() => {
        this.ponged.push(leftMs);
        this.deliverPong(payload);
      });
      if (this.platform.heartbeats) this.deliver('{"type":"heartbeat","timestamp":"2026-11-21T14:30:00Z"}');
    });
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  close(): void {
    const { answers } = this;
    this.clock.after(answers ? 1 : 2_000, () => this.end({ kind: 'closed', code: answers ? 1000 : 1006, reason: '' }));
  }

  terminate(): void {
    this.state = 'ended';
  }

  bytesReceived(): number {
    return this.bytes;
  }
}
