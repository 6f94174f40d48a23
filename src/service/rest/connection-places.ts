import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Ambient } from '../../observability/ambient.ts';
import type { endReasons, Metrics } from '../../observability/metrics.ts';
import type { Timer } from '../../runtime/clock.ts';
import { portFault } from '../../runtime/program-error.ts';
import { httpAddress } from '../../runtime/url-host.ts';

interface ConnectionPlacesDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly metrics: Pick<Metrics['process'], 'connections' | 'connectionsEnded'>;
}

interface ConnectionPlacesOptions {
  readonly port: 'rest' | 'admin';
  /** Sockets at once. */
  readonly max: number;
  /** Whether callers sign in. If they do not, all sockets are alike. */
  readonly signIn: boolean;
}

interface Place {
  readonly socket: Socket;
  /** Requests read and not yet answered whole. */
  busy: number;
  /** Undefined: no caller has signed in on it. */
  principal: string | undefined;
}

type EndReason = (typeof endReasons)[number];

/** Signed-in sockets have at most this part of the places, except for tokens with `ops:write`. */
const usualPart = 0.9;
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

/**
 * One port's sockets. A socket is a stranger's until a request on it has signed in. A new socket is
 * always taken: when all places are, the oldest socket of a stranger ends, busy or not; if there is
 * none, the signed-in one that was idle longest. So strangers never keep an operator out: a new
 * socket has at least a tenth of the places to outlast, and its first request signs it in.
 *
 * Invariant: a signed-in caller's busy socket is never ended to make room. It is ended only for too
 * many requests on it. Commands that have begun go on all the same, and a caller repeats each under
 * its key.
 */
export class ConnectionPlaces {
  /** Strangers in the order in which they came. The last active of the others comes last. */
  private readonly held = new Map<Socket, Place>();
  private signedIn = 0;
  private ended = 0;
  /** Whose socket was ended last, for the log. */
  private last: { readonly peer?: string | undefined; readonly principal?: string | undefined } = {};
  private quiet: Timer | undefined;
  private readonly deps: ConnectionPlacesDeps;
  private readonly options: ConnectionPlacesOptions;

  constructor(deps: ConnectionPlacesDeps, options: ConnectionPlacesOptions) {
    this.deps = deps;
    this.options = options;
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

  /** A request on the socket has signed in. False: all usual places have signed in and are busy. */
  signIn(socket: Socket, { name, scopes }: { readonly name: string; readonly scopes: ReadonlySet<string> }): boolean {
    const place = this.held.get(socket);
    if (!this.options.signIn || place === undefined || place.principal !== undefined) return true;
    const isFull = this.signedIn >= Math.floor(this.options.max * usualPart) && !scopes.has('ops:write');
    if (isFull && !this.end(this.first(isIdle), 'full')) return false;
    place.principal = name;
    this.count(1);
    return true;
  }

  close(): void {
    this.quiet?.cancel();
  }

  private take(socket: Socket): Place {
    const known = this.held.get(socket);
    if (known !== undefined) return known;
    const place: Place = { socket, busy: 0, principal: undefined };
    if (socket.destroyed) return place;
    this.held.set(socket, place);
    this.count(0);
    socket.once('close', () => this.leave(place));
    if (this.held.size > this.options.max) this.end(this.goes(place), 'full');
    return place;
  }

  /** Where no caller signs in a busy socket may be a stream: idle ones go first. */
  private goes(newcomer: Place): Place {
    const stranger = (mostBusy: number) =>
      this.first((place) => place.principal === undefined && place !== newcomer && place.busy <= mostBusy);
    const idle = this.options.signIn ? undefined : stranger(0);
    return idle ?? stranger(Infinity) ?? this.first(isIdle) ?? newcomer;
  }

  private first(isWanted: (place: Place) => boolean): Place | undefined {
    for (const place of this.held.values()) if (isWanted(place)) return place;
    return undefined;
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
    if (this.held.delete(place.socket)) this.count(place.principal === undefined ? 0 : -1);
  }

  private answered(place: Place): void {
    place.busy -= 1;
    const isStranger = this.options.signIn && place.principal === undefined;
    if (isStranger || !this.held.delete(place.socket)) return;
    this.held.set(place.socket, place);
  }

  /** False: there was none to end. */
  private end(place: Place | undefined, reason: EndReason): boolean {
    if (place === undefined) return false;
    this.leave(place);
    this.last = { peer: place.socket.remoteAddress, principal: place.principal };
    this.note(reason);
    place.socket.destroy();
    return true;
  }

  private count(signedIn: 1 | 0 | -1): void {
    this.signedIn += signedIn;
    const { port } = this.options;
    this.deps.metrics.connections.set({ port, kind: 'stranger' }, this.held.size - this.signedIn);
    this.deps.metrics.connections.set({ port, kind: 'signed_in' }, this.signedIn);
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
    const { ended, signedIn, last } = this;
    const { port, max } = this.options;
    this.deps.log.warn(
      { port, reason, ended, strangers: this.held.size - signedIn, signedIn, max, ...last },
      reason === 'requests'
        ? `connections were ended, because more than ${mostUnanswered} requests on each waited for their answers before it signed in, or ${mostUnansweredSignedIn} after it`
        : 'connections were ended, because all places are taken',
    );
    this.ended = 0;
    this.quiet = this.deps.clock.after(logEveryMs, () => {
      this.quiet = undefined;
      if (this.ended > 0) this.report(reason);
    });
  }
}

/** `http://host:port` as bound; undefined before the server listens. */
export function addressOf(server: FastifyInstance): string | undefined {
  const bound = server.addresses()[0];
  return typeof bound === 'object' ? httpAddress(bound.address, bound.port) : undefined;
}

/** Rejects with words for people when the port is taken. `setting` names the port. */
export async function listenOn(server: FastifyInstance, at: Parameters<typeof portFault>[1]): Promise<void> {
  await server.listen({ host: at.host, port: at.port }).catch((error: unknown) => {
    throw portFault(error, at);
  });
}

function isIdle(place: Place): boolean {
  return place.principal !== undefined && place.busy === 0;
}
