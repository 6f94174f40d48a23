import type { Clock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import type { ExchangeAccount, ExchangeOrder } from '../../../src/sandbox/exchange/exchange-order.ts';
import { happens } from '../../../src/sandbox/market/instruments.ts';
import type { SocketEnd, SocketFactory } from '../../../src/service/sources/socket.ts';
import type { Host } from '../host.ts';
import { spoiled } from '../plan/garbage.ts';
import { noStreamFaults, type StreamFaults } from '../plan/stream-faults.ts';
import type { BareViews } from '../planted/bare-views.ts';
import type { Trace } from '../trace.ts';
import type { SimulatedVenue } from '../venues/simulated-venue.ts';
import { MemorySocket, type SocketPeer } from './memory-socket.ts';
import type { MemoryTokens } from './memory-tokens.ts';

interface MemoryStreamDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly tokens: MemoryTokens;
  readonly account: (id: string) => ExchangeAccount | undefined;
  readonly trace: Trace;
  readonly bare: BareViews;
  readonly venue: Pick<SimulatedVenue, 'stream' | 'streamOf' | 'words'>;
}

const heartbeatMs = 15_000;
const congestedMs = 5_000;

/**
 * The order stream of a venue in memory: upgrade, sign-in, subscriptions, events, heartbeats, and
 * everything that goes wrong on the way. No replay, no sequence number.
 *
 * Invariant: a subscription is in force from before its acknowledgement is sent; without faults
 * every change of a subscribed account is sent once.
 */
export class MemoryStream implements SocketPeer {
  faults: StreamFaults = noStreamFaults;
  down = false;
  /**
   * The probability with which an event, and what follows it,
   * lies on the way for up to some seconds.
   */
  congested = 0;
  /**
   * Told when the process reads that a subscription is acknowledged, and when the process knows
   * that its connection has ended.
   */
  onAcknowledged: (socket: MemorySocket, name: string) => void = () => {};
  onLeft: (socket: MemorySocket) => void = () => {};
  /**
   * Told of each event that is sent on a socket, whole or as garbage;
   * returns what to call when the process reads it.
   */
  onSent: (socket: MemorySocket, name: string, text: string) => (() => void) | undefined = () => undefined;
  /** Told when a socket loses an event, or has it later than others. */
  onSpoiled: (socket: MemorySocket, name: string, text: string) => void = () => {};
  private readonly sockets = new Set<MemorySocket>();
  private readonly everOpened: MemorySocket[] = [];
  private readonly deps: MemoryStreamDeps;

  constructor(deps: MemoryStreamDeps) {
    this.deps = deps;
    this.beat();
  }

  socketFactory(host: Host): SocketFactory {
    return (url, token, handlers) => {
      const options = { url, token: token?.reveal() ?? '', handlers };
      const socket = new MemorySocket({ ...this.deps, peer: this, host }, options);
      this.everOpened.push(socket);
      return socket;
    };
  }

  get connections(): number {
    return this.sockets.size;
  }

  /** Frames that a process was handed, over all its connections. */
  framesTo(host: Host): number {
    return this.everOpened.filter((socket) => socket.host === host).reduce((sum, { delivered }) => sum + delivered, 0);
  }

  /** A change of an order, to everybody who follows its account. */
  emit(order: ExchangeOrder, step: string): void {
    const name = this.nameOf(order);
    const text = this.deps.bare.of(this.textOf(order, step));
    for (const socket of this.sockets) if (socket.subscribed.has(name)) this.deliver(socket, name, text);
  }

  /** As the stream is subscribed to: `<stream>:<accountId>`. */
  nameOf({ terms: { stream, account } }: ExchangeOrder): string {
    return `${this.deps.venue.streamOf(stream)}:${account.id}`;
  }

  textOf(order: ExchangeOrder, step: string): string {
    const { words } = this.deps.venue;
    return words.event(order, words.data(order), step);
  }

  /** A frame as it is, past every fault, to everybody who follows `<stream>:<accountId>`. */
  push(name: string, text: string): void {
    for (const socket of this.sockets) if (socket.subscribed.has(name)) this.send(socket, name, text);
  }

  /** Connections that were ever asked for. */
  get dialled(): number {
    return this.everOpened.length;
  }

  /** Ends connections: all of them, or each with the given probability. */
  end(how: SocketEnd, lose: boolean, share = 1): void {
    for (const socket of [...this.sockets]) {
      if (!happens(this.deps.random, share)) continue;
      this.deps.trace.add('platform', 'ends', `${socket.host.name} ${JSON.stringify(how)}`);
      socket.endBy(how, lose);
    }
  }

  /** From now on nothing arrives on some connections, and nobody is told. */
  silence(share: number): void {
    for (const socket of this.sockets) if (happens(this.deps.random, share)) this.hush(socket);
  }

  /** Connections whose token is no longer good. */
  endUnauthorized(): void {
    const { tokens, venue } = this.deps;
    for (const socket of [...this.sockets]) if (!venue.stream.isGood(socket, tokens)) venue.stream.expel(socket);
  }

  upgrade(socket: MemorySocket): SocketEnd | 'open' | 'hang' {
    const { random, tokens, venue } = this.deps;
    if (this.down) return { kind: 'failed', code: 'connect', message: 'refused' };
    if (!venue.stream.admits(socket, tokens)) return { kind: 'refused', status: 401 };
    if (happens(random, this.faults.upgradeHangs)) return 'hang';
    if (happens(random, this.faults.upgradeRefused))
      return { kind: 'refused', status: happens(random, 0.5) ? 503 : 200 };
    this.sockets.add(socket);
    return 'open';
  }

  message(socket: MemorySocket, text: string): void {
    const { clock, random, venue } = this.deps;
    const { answer, joins: name, leaves, signsIn } = venue.stream.asked(socket, text, this.deps);
    if (leaves !== undefined) socket.subscribed.delete(leaves);
    if (name === undefined) {
      if (signsIn && happens(random, this.faults.ackNever)) return;
      socket.push(answer, () => {
        if (signsIn) socket.delivered -= 1;
      });
      return;
    }
    socket.subscribed.add(name);
    if (happens(random, this.faults.ackNever)) {
      const declined = venue.stream.declined(random);
      if (declined === undefined) return;
      socket.subscribed.delete(name);
      socket.push(declined);
      return;
    }
    const lateMs = happens(random, this.faults.ackLate) ? random.next() * 4000 : 0;
    clock.after(lateMs, () => {
      if (venue.stream.endsSubscriptions && !socket.subscribed.has(name)) return;
      // The subscription stands for the process once it has read so: a paused one knows of none but
      // the older connection, dead or not (seed 11997).
      socket.push(answer, () => this.onAcknowledged(socket, name));
    });
  }

  gone(socket: MemorySocket): void {
    this.sockets.delete(socket);
  }

  left(socket: MemorySocket): void {
    this.onLeft(socket);
  }

  /** `event`: what it would be if it were whole. */
  private send(socket: MemorySocket, name: string, text: string, event = text): void {
    if (socket.open) socket.push(text, this.onSent(socket, name, event));
  }

  private deliver(socket: MemorySocket, name: string, text: string): void {
    const { clock, random, venue } = this.deps;
    const { faults, congested } = this;
    const spoil = () => this.onSpoiled(socket, name, text);
    if (congested > 0 && happens(random, congested)) socket.congest(random.next() * congestedMs);
    if (happens(random, faults.foreign)) venue.stream.intrude(socket, name, text);
    if (!socket.subscribed.has(name)) return;
    if (happens(random, faults.silentLoss)) {
      spoil();
      return;
    }
    if (happens(random, faults.cut)) {
      spoil();
      clock.after(random.next() * 500, () => socket.endBy({ kind: 'closed', code: 1006, reason: '' }, true));
      return;
    }
    if (happens(random, faults.halfOpen)) this.hush(socket);
    if (happens(random, faults.garbage)) {
      // Held as the event that it was: whoever reads that on another
      // connection misses nothing by this one (seed 1123).
      this.send(socket, name, spoiled(text, random, venue.stream.spoils), text);
      return;
    }
    if (happens(random, faults.delay)) {
      spoil();
      clock.after(random.next() * 3000, () => this.send(socket, name, text));
    } else this.send(socket, name, text);
    if (happens(random, faults.duplicate)) clock.after(random.next() * 2000, () => this.send(socket, name, text));
  }

  private hush(socket: MemorySocket): void {
    this.deps.trace.add('platform', 'goes silent for', socket.host.name);
    socket.silent = true;
  }

  private beat(): void {
    const { heartbeat } = this.deps.venue.stream;
    if (heartbeat === undefined) return;
    this.deps.clock.after(heartbeatMs, () => {
      for (const socket of this.sockets) socket.push(heartbeat);
      this.beat();
    });
  }
}
