import type { Ambient } from '../../../observability/ambient.ts';
import type { RestMetrics } from '../../../observability/metrics.ts';
import type { Timer } from '../../../runtime/clock.ts';
import { Wakeup } from '../../../runtime/waiting.ts';
import type { EventHorizon, EventPosition, OrderReads } from '../../../store/orders/order-reads.ts';
import type { StreamClient } from './stream-client.ts';

interface EventTailDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly reads: Pick<OrderReads, 'eventHorizon' | 'eventsAfter'>;
  readonly metrics: RestMetrics;
}

interface EventTailOptions {
  /** How often it looks while a reader wants events. */
  readonly pollEveryMs: number;
}

const pageSize = 200;

/**
 * The results and halts for `GET /v1/stream`, if a reader asks for them.
 *
 * Works in rounds. One round reads the horizon once, and one page for each different position among
 * the readers; readers at the same position share it. A page that is not full ends at the horizon:
 * all readers that have caught up then stand at one position. A round is then two short reads,
 * however many readers there are.
 *
 * Invariant: each reader has got every wanted event up to its position, once. A reader that takes
 * nothing keeps its position until it has made room.
 */
export class EventTail {
  private readonly clients = new Set<StreamClient>();
  private readonly wakeup = new Wakeup();
  private running: Promise<void> | undefined;
  private stopped = false;
  private failing = false;
  private readonly deps: EventTailDeps;
  private readonly options: EventTailOptions;

  constructor(deps: EventTailDeps, options: EventTailOptions) {
    this.deps = deps;
    this.options = options;
  }

  start(): void {
    this.running ??= this.run();
  }

  stop(): void {
    this.stopped = true;
    this.clients.clear();
    this.wakeup.wake();
  }

  /** A reader that asked for events. It leaves by itself once it has ended. */
  add(client: StreamClient): void {
    this.clients.add(client);
    this.wakeup.wake();
  }

  private async run(): Promise<void> {
    const { clock } = this.deps;
    while (!this.stopped) {
      const more = await this.round();
      if (more) {
        await clock.turn();
        continue;
      }
      const timer: Timer | undefined =
        this.clients.size === 0 ? undefined : clock.after(this.options.pollEveryMs, () => this.wakeup.wake());
      if (!this.stopped) await this.wakeup.wait();
      timer?.cancel();
    }
  }

  /** True: a page was full, so there is more to read at once. Never rejects. */
  private async round(): Promise<boolean> {
    for (const client of this.clients) if (client.state === 'ended') this.clients.delete(client);
    if (this.clients.size === 0) return false;
    try {
      const ends = await this.deps.reads.eventHorizon();
      let more = false;
      for (const { position, clients } of this.positions()) more = (await this.serve(position, clients, ends)) || more;
      this.failing = false;
      return more;
    } catch (err) {
      if (!this.failing) this.deps.log.warn({ err }, 'the stream of results and halts waits: they could not be read');
      this.failing = true;
      return false;
    }
  }

  private positions(): { readonly position: EventPosition; readonly clients: StreamClient[] }[] {
    const groups = new Map<string, { readonly position: EventPosition; readonly clients: StreamClient[] }>();
    for (const client of this.clients) {
      const { events: position } = client;
      if (position === undefined || !client.hasRoom()) continue;
      const name = `${position.tx}.${position.number}`;
      const group = groups.get(name);
      if (group === undefined) groups.set(name, { position, clients: [client] });
      else group.clients.push(client);
    }
    return [...groups.values()];
  }

  private async serve(
    position: EventPosition,
    clients: readonly StreamClient[],
    { horizon, end }: EventHorizon,
  ): Promise<boolean> {
    // After a restore the transaction numbers may begin again.
    if (position.tx > end) return this.skip(clients, horizon, 'unknown_id');
    const page = await this.deps.reads.eventsAfter(position, horizon, pageSize);
    if (!page.complete) return this.skip(clients, horizon, 'too_old');
    for (const client of clients) {
      for (const event of page.events) client.takeEvent(event);
      client.passedEvents(page.upTo);
    }
    return page.events.length === pageSize;
  }

  private skip(clients: readonly StreamClient[], horizon: bigint, reason: 'too_old' | 'unknown_id'): false {
    for (const client of clients) {
      client.skipEventsTo({ tx: horizon, number: 0n }, reason);
      this.deps.metrics.streamResets.inc({ reason });
    }
    return false;
  }
}
