import type { Server, ServerResponse } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Timer } from '../../runtime/clock.ts';

interface ConnectionPlacesDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly metrics: Pick<Metrics['process'], 'connections' | 'connectionsEnded'>;
}

interface ConnectionPlacesOptions {
  readonly port: 'rest' | 'admin';
  /** Sockets at once. */
  readonly max: number;
  /** Whether callers sign in. If they do not, all sockets are alike, and may have all places. */
  readonly signIn: boolean;
}

/** A request's caller, as far as places depend on it. */
interface SignedIn {
  readonly name: string;
  readonly scopes: ReadonlySet<string>;
}

interface Place {
  readonly socket: Socket;
  readonly peer: string;
  readonly sinceMs: number;
  /** Requests read and not yet answered whole. */
  busy: number;
  /** One request on it was answered. */
  hasAsked: boolean;
  /** Its last request's principal; undefined: no caller has signed in on it. */
  principal: string | undefined;
}

/**
 * Why a socket was ended: its peer, all strangers, or its principal have more than their share,
 * every place is taken, or its caller asked for too much on it at once.
 */
export const endReasons = ['peer', 'strangers', 'principal', 'full', 'requests'] as const;
type EndReason = (typeof endReasons)[number];

/**
 * A new socket has this long to send its first request before it counts as idle for its peer's
 * bound: a client may open hundreds at once.
 */
const firstRequestMs = 1_000;
/**
 * Requests of a stranger on one socket that wait for their answers. What comes in one piece is
 * parsed in one turn of the event loop. 64 KiB are 1,300 requests, and a hundred such sockets held
 * up a halt for 24 s. HTTP allows it (RFC 9112, 9.3.2), but no usual client does so.
 */
const mostUnanswered = 8;
/**
 * The same for a signed-in caller: each request may wait for one of the few connections of the
 * commands. Neither HTTP clients nor our instances put a second request on a busy socket.
 */
const mostUnansweredSignedIn = 64;
const logEveryMs = 60_000;
const named =
  'peer is the address with the most that did not sign in, principal the last signed-in caller that lost one';

/**
 * One port's sockets, and who may have how many. A socket is a stranger's until a request on it has
 * signed in. Strangers have half the places, and one address half of those; a principal has half of
 * all. The last tenth is for tokens with `ops:write`.
 *
 * A new socket is always taken. If a share is full, one of its sockets goes instead: the one idle
 * longest, at the address with the most. So strangers never keep an operator out, however many
 * places they hold. Behind a proxy all callers have one address, so a socket with signed-in
 * requests does not count for that address.
 *
 * Invariant: the counts cover the sockets in `held`; a signed-in caller's busy socket is never
 * ended to make room. It is ended only for too many requests on it. Commands that have begun go on
 * all the same, and a caller repeats each under its key.
 */
export class ConnectionPlaces {
  /** The last active socket comes last. */
  private readonly held = new Map<Socket, Place>();
  private readonly strangersOf = new Map<string, number>();
  private readonly socketsOf = new Map<string, number>();
  private strangers = 0;
  private ended = 0;
  /** The last signed-in caller that lost a socket, for the log. */
  private endedOf: string | undefined;
  private quiet: Timer | undefined;
  private readonly deps: ConnectionPlacesDeps;
  private readonly options: ConnectionPlacesOptions;
  private readonly most: {
    readonly strangers: number;
    readonly ofPeer: number;
    readonly ofPrincipal: number;
    readonly usual: number;
  };

  constructor(deps: ConnectionPlacesDeps, options: ConnectionPlacesOptions) {
    this.deps = deps;
    this.options = options;
    const { max, signIn } = options;
    const part = (of: number) => (signIn ? Math.max(1, Math.floor(max * of)) : max);
    this.most = { strangers: part(0.5), ofPeer: part(0.25), ofPrincipal: part(0.5), usual: part(0.9) };
  }

  /** Called once the server has its listeners. */
  watch(server: Server): void {
    // Only a last guard, for sockets that were ended and are not closed yet.
    server.maxConnections = this.options.max * 2;
    server.on('connection', (socket: Socket) => this.take(socket));
    // In place of the server's own listeners, which would make an answer for each request of a
    // socket that was ended.
    const listeners = server.listeners('request');
    server.removeAllListeners('request');
    server.on('request', (request, response) => {
      if (this.begin(request.socket, response))
        for (const listener of listeners) listener.call(server, request, response);
    });
    server.on('drop', () => this.note('full'));
  }

  /**
   * A request on the socket has signed in. False: this principal has no place for one more socket,
   * and no idle one could go.
   */
  signIn(socket: Socket, { name, scopes }: SignedIn): boolean {
    const place = this.held.get(socket);
    if (!this.options.signIn || place === undefined || place.principal === name) return true;
    const isOperator = scopes.has('ops:write');
    const isFull = place.principal === undefined && !isOperator && this.held.size - this.strangers >= this.most.usual;
    if (isFull && !this.end(this.idleOf(nameWithMost(this.socketsOf)), 'full')) return false;
    if ((this.socketsOf.get(name) ?? 0) >= this.most.ofPrincipal && !this.end(this.idleOf(name), 'principal'))
      return false;
    this.uncount(place);
    place.principal = name;
    this.count(place);
    return true;
  }

  /** A token was refused on the socket: it is a stranger's again. */
  signOut(socket: Socket): void {
    const place = this.held.get(socket);
    if (place?.principal === undefined) return;
    this.uncount(place);
    place.principal = undefined;
    this.count(place);
    this.makeRoom(place);
  }

  close(): void {
    this.quiet?.cancel();
  }

  private take(socket: Socket): Place {
    const known = this.held.get(socket);
    if (known !== undefined) return known;
    const peer = peerOf(socket.remoteAddress ?? '');
    const sinceMs = this.deps.clock.monotonicMs();
    const place: Place = { socket, peer, sinceMs, busy: 0, hasAsked: false, principal: undefined };
    if (socket.destroyed) return place;
    this.held.set(socket, place);
    this.count(place);
    socket.once('close', () => this.leave(place));
    this.makeRoom(place);
    return place;
  }

  /** False: the socket was ended, or is now, since it asks for too much at once. */
  private begin(socket: Socket, response: ServerResponse): boolean {
    if (socket.destroyed) return false;
    const place = this.take(socket);
    place.busy += 1;
    response.once('close', () => this.answered(place));
    const most = place.principal === undefined ? mostUnanswered : mostUnansweredSignedIn;
    return !(this.options.signIn && place.busy > most && this.end(place, 'requests'));
  }

  private leave(place: Place): void {
    if (this.held.delete(place.socket)) this.uncount(place);
  }

  private answered(place: Place): void {
    place.busy -= 1;
    place.hasAsked = true;
    if (!this.held.delete(place.socket)) return;
    this.held.set(place.socket, place);
  }

  /** After `place` became a stranger's. */
  private makeRoom(place: Place): void {
    const { most, options } = this;
    if ((this.strangersOf.get(place.peer) ?? 0) > most.ofPeer)
      this.end(this.strangerOf(place.peer, place, true), 'peer');
    const isCrowded = this.strangers > most.strangers;
    if (!isCrowded && this.held.size <= options.max) return;
    const ended =
      this.end(this.strangerOf(nameWithMost(this.strangersOf), place, false), isCrowded ? 'strangers' : 'full') ||
      this.end(this.idleOf(nameWithMost(this.socketsOf)), 'full');
    if (!ended) this.end(place, 'full');
  }

  /**
   * The peer's stranger socket that goes: the one idle longest, else the one busy longest, since a
   * stranger can stay busy for as long as it likes by not taking its answer. `settled`: only one
   * with enough time to ask.
   */
  private strangerOf(peer: string | undefined, newcomer: Place, settled: boolean): Place | undefined {
    const asLongAs = this.deps.clock.monotonicMs() - firstRequestMs;
    let busy: Place | undefined;
    for (const place of this.held.values()) {
      if (place.principal !== undefined || place.peer !== peer || place === newcomer) continue;
      if (settled && !place.hasAsked && place.sinceMs > asLongAs) continue;
      if (place.busy === 0) return place;
      busy ??= place;
    }
    return busy;
  }

  private idleOf(principal: string | undefined): Place | undefined {
    for (const place of this.held.values())
      if (place.principal !== undefined && place.principal === principal && place.busy === 0) return place;
    return undefined;
  }

  /** False: there was none to end. */
  private end(place: Place | undefined, reason: EndReason): boolean {
    if (place === undefined) return false;
    // While it is counted: the line in the log names its peer, also where it was the only one.
    this.endedOf = place.principal ?? this.endedOf;
    this.note(reason);
    this.leave(place);
    place.socket.destroy();
    return true;
  }

  private count(place: Place): void {
    this.change(place, 1);
  }

  private uncount(place: Place): void {
    this.change(place, -1);
  }

  private change({ principal, peer }: Place, by: 1 | -1): void {
    const counts = principal === undefined ? this.strangersOf : this.socketsOf;
    const name = principal ?? peer;
    const now = (counts.get(name) ?? 0) + by;
    if (now === 0) counts.delete(name);
    else counts.set(name, now);
    if (principal === undefined) this.strangers += by;
    const { port } = this.options;
    this.deps.metrics.connections.set({ port, kind: 'stranger' }, this.strangers);
    this.deps.metrics.connections.set({ port, kind: 'signed_in' }, this.held.size - this.strangers);
  }

  private note(reason: EndReason): void {
    this.deps.metrics.connectionsEnded.inc({ port: this.options.port, reason });
    this.ended += 1;
    if (this.quiet === undefined) this.report(reason);
  }

  /**
   * One line at once, then one a minute for as long as it goes on: a flood must not fill the log as
   * well.
   */
  private report(reason: EndReason): void {
    const { strangers, ended, endedOf: principal } = this;
    const { port, max } = this.options;
    const peer = nameWithMost(this.strangersOf);
    const ofPeer = this.strangersOf.get(peer ?? '') ?? 0;
    this.deps.log.warn(
      { port, reason, ended, strangers, signedIn: this.held.size - strangers, max, peer, ofPeer, principal },
      reason === 'requests'
        ? `connections were ended, because more than ${mostUnanswered} requests on each waited for their answers before it signed in, or ${mostUnansweredSignedIn} after it; ${named}`
        : `connections were ended, because their share of the places is full; ${named}`,
    );
    this.ended = 0;
    this.endedOf = undefined;
    this.quiet = this.deps.clock.after(logEveryMs, () => {
      this.quiet = undefined;
      if (this.ended > 0) this.report(reason);
    });
  }
}

/**
 * One peer: an IPv4 address, also one that is written as IPv6, or a network of IPv6. A machine has
 * a whole /64 to take its address from (RFC 4291, 2.5.4), and would otherwise be as many peers as
 * it likes.
 */
export function peerOf(address: string): string {
  const mapped = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address)?.[1];
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address;
  if (address === '::1') return address;
  const [first = [], last = []] = address.split('::').map((part) => (part === '' ? [] : part.split(':')));
  // `::` stands for the zeros that are missing.
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`;
}

function nameWithMost(counts: ReadonlyMap<string, number>): string | undefined {
  let most: string | undefined;
  for (const [name, count] of counts) if (most === undefined || count > (counts.get(most) ?? 0)) most = name;
  return most;
}
