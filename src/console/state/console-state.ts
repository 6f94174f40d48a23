import { type Signal, signal } from '@preact/signals-core';
import type { CommandResult, OrderUpdate } from '../../../types/records.d.ts';
import type { HaltChange } from '../../contract/halt-answers.ts';
import type { CancelAllRun } from './commands/cancel-all-run.ts';
import { Ticket } from './commands/ticket.ts';
import type { TicketFields } from './commands/ticket-body.ts';
import { Listeners } from './listeners.ts';
import { type LoadEnd, type LoadOptions, loadOrders } from './orders/load-orders.ts';
import { OrderStore } from './orders/order-store.ts';
import { type Ports, pause } from './ports.ts';
import { Rest } from './rest.ts';
import { Session } from './session.ts';
import { StatusWatch } from './status-watch.ts';
import { StreamClient } from './stream-client.ts';

export type LoadState = { readonly kind: 'reading' } | LoadEnd;

const mostOpen = 200_000;
const mostOver = 5_000;
const beatMs = 1_000;
/** After a list could not be read. */
const readAgainMs = 5_000;

/**
 * Everything the screens show, joined: the signed-in reader, the stream, the orders and the doubts.
 */
export class ConsoleState {
  readonly ports: Ports;
  readonly rest: Rest;
  readonly session: Session;
  readonly orders: OrderStore;
  readonly stream: StreamClient;
  readonly status: StatusWatch;
  readonly openOrders = signal<LoadState>({ kind: 'reading' });
  /** Orders that are over: read once the blotter asks for them. */
  readonly otherOrders = signal<LoadState>();
  /** The chosen order in the blotter: it stays so during a look at another screen. */
  readonly chosenOrder = signal<string>();
  /** Rises each time the stream begins anew: whatever was read before may miss an update. */
  readonly beginnings = signal(0);
  /** The stream's last `reset`, until the reader dismisses it. */
  readonly reset = signal<{ readonly reason: string; readonly atMs: number }>();
  /** Once a second: updates a second, and how long ago the stream said anything. */
  readonly pulse = signal<{ readonly rate: number | undefined; readonly silentMs: number | undefined }>({
    rate: undefined,
    silentMs: undefined,
  });
  /** The reader's day: with a new one the screens are drawn again, as earlier times need theirs. */
  readonly today = signal('');
  /** Each update, step of a command and change of a halt, as it arrives. */
  readonly updates = new Listeners<OrderUpdate>();
  readonly results = new Listeners<CommandResult>();
  readonly halts = new Listeners<HaltChange>();
  /** The newest cancel-all in this tab, until the reader dismisses it. */
  readonly cancelAll = signal<CancelAllRun>();
  private ticket: Ticket | undefined;
  private readonly rate = updateRate();
  private signedIn = new AbortController();
  private reading = new AbortController();
  private readingOthers = new AbortController();

  constructor(ports: Ports) {
    this.ports = ports;
    this.rest = new Rest(ports);
    this.session = new Session(ports, this.rest);
    this.orders = new OrderStore(ports);
    this.status = new StatusWatch(this);
    this.stream = new StreamClient(this, {
      onReadOrders: () => void this.readOpen(),
      onUpdate: (update) => this.takeUpdate(update),
      onResult: (result) => this.results.call(result),
      onHalt: (halt) => this.halts.call(halt),
      onReset: (reason) => this.wasReset(reason),
      onTokenEnd: (token, why) => this.session.tokenEnded(token, why),
    });
  }

  async start(): Promise<void> {
    this.session.state.subscribe(({ kind }) => {
      if (kind === 'open') this.open();
      else if (kind === 'signed-out') this.close();
    });
    await this.session.start();
  }

  /**
   * The unsent ticket: it stays, with its key, while the reader looks at other screens. Else a new
   * one.
   */
  openTicket(prefilled: Partial<TicketFields>): Ticket {
    if (this.ticket === undefined || this.ticket.progress.peek().kind === 'sent')
      this.ticket = new Ticket(this, prefilled);
    else this.ticket.set(prefilled);
    return this.ticket;
  }

  /** Reads orders that are over, once, up to a bound. */
  async wantOthers(): Promise<void> {
    if (this.otherOrders.peek() !== undefined || !this.session.may('orders:read')) return;
    this.readingOthers = new AbortController();
    await this.readList({ which: 'over', most: mostOver }, this.otherOrders, this.readingOthers.signal);
  }

  private open(): void {
    this.signedIn.abort();
    this.signedIn = new AbortController();
    const { signal } = this.signedIn;
    const path = this.streamPath();
    if (path !== undefined) void this.stream.follow(path, signal);
    else this.openOrders.value = { kind: 'failed', why: 'this token may not read orders' };
    void this.status.follow(signal);
    this.beat(signal);
  }

  /**
   * Halts are for tokens that may read the service's state. Undefined: this token may read no
   * orders.
   */
  private streamPath(): string | undefined {
    if (!this.session.may('orders:read')) return undefined;
    return `/v1/stream?events=${this.session.may('ops:read') ? 'result,halt' : 'result'}`;
  }

  /** Nothing seen with the old token stays. */
  private close(): void {
    this.signedIn.abort();
    this.reading.abort();
    this.readingOthers.abort();
    this.orders.clear();
    this.stream.forget();
    this.otherOrders.value = undefined;
    this.chosenOrder.value = undefined;
    this.openOrders.value = { kind: 'reading' };
    this.reset.value = undefined;
    this.status.forget();
    this.ticket = undefined;
    this.cancelAll.value = undefined;
  }

  private async readOpen(): Promise<void> {
    this.reading.abort();
    this.reading = new AbortController();
    this.beginnings.value += 1;
    await this.readList({ which: 'open', most: mostOpen }, this.openOrders, this.reading.signal);
  }

  /** After a failure it is read again: the stream may go on for days without a new beginning. */
  private async readList(
    options: LoadOptions,
    shown: Signal<LoadState> | Signal<LoadState | undefined>,
    signal: AbortSignal,
  ): Promise<void> {
    shown.value = { kind: 'reading' };
    while (!signal.aborted) {
      const end = await loadOrders(this, options, (items) => this.orders.takeListed(items), signal);
      if (signal.aborted) return;
      shown.value = end;
      if (end.kind !== 'failed') return;
      await pause(this.ports, readAgainMs, signal);
    }
  }

  private takeUpdate(update: OrderUpdate): void {
    this.orders.takeUpdate(update);
    this.updates.call(update);
  }

  private wasReset(reason: string): void {
    this.reset.value = { reason, atMs: this.ports.nowMs() };
    if (reason !== 'slow_reader') {
      this.readingOthers.abort();
      this.orders.clear();
      this.otherOrders.value = undefined;
    }
  }

  private beat(signal: AbortSignal): void {
    if (signal.aborted) return;
    const now = this.ports.monotonicMs();
    const heard = this.stream.heardMs;
    this.stream.leaveIfSilent();
    this.today.value = new Date(this.ports.nowMs()).toDateString();
    this.pulse.value = {
      rate: this.rate(now, this.orders.received),
      silentMs: heard === 0 ? undefined : now - heard,
    };
    this.ports.after(beatMs, () => this.beat(signal));
  }
}

const rateOverMs = 5_000;

/**
 * Updates a second over the last seconds, from a count that only rises. Keeps at most one sample
 * for each call within them. Undefined until there is a second to measure by.
 */
function updateRate(): (atMs: number, count: number) => number | undefined {
  let samples: { readonly atMs: number; readonly count: number }[] = [];
  return (atMs, count) => {
    samples = [...samples.filter((sample) => sample.atMs >= atMs - rateOverMs), { atMs, count }];
    const [first = { atMs, count }] = samples;
    return atMs - first.atMs < 900 ? undefined : ((count - first.count) * 1000) / (atMs - first.atMs);
  };
}
