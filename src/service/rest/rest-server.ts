import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { isChangeByForeignPage, namesThisHost, securityHeaders } from '../../runtime/browser-guard.ts';
import { ProgramError } from '../../runtime/program-error.ts';
import type { Service } from '../../runtime/supervisor.ts';
import { isLoopbackHost } from '../../runtime/url-host.ts';
import type { PrincipalToken } from '../../store/principals.ts';
import { Authenticator } from './auth/authenticator.ts';
import { JwtVerifier, type JwtVerifierOptions } from './auth/jwt-verifier.ts';
import { StaticTokens } from './auth/static-tokens.ts';
import { addressOf, ConnectionPlaces, listenOn } from './connection-places.ts';
import { serveConsole } from './console/console-site.ts';
import { serveDemo } from './console/demo-pass.ts';
import { allowOrigin, answerPreflight } from './cross-origin.ts';
import { MadeDocuments } from './documents/asyncapi-document.ts';
import { answerClientError } from './problem.ts';
import { ReadGate, type ReadGateOptions } from './read-gate.ts';
import { givenRequestId, headerFault, pathOf } from './request-headers.ts';
import type { RestParts, RouteParts } from './route.ts';
import { routeTable } from './route-table.ts';
import { answerProblem, answerUnknownPath, observeRequest, sendProblem } from './send-answer.ts';
import { LoopShare, Pages } from './send-page.ts';
import { DeniedWrites, serveRoutes } from './serve-routes.ts';
import { EventTail } from './stream/event-tail.ts';
import { StreamHub, type StreamHubOptions } from './stream/stream-hub.ts';
import { readUnacknowledged } from './stream/unacknowledged.ts';

export interface RestServerOptions {
  readonly host: string;
  /** 0: any free port; see `address`. */
  readonly port: number;
  readonly version: string;
  /**
   * Neither: every caller that reaches the port may do everything, and it is bound to loopback
   * only.
   */
  readonly auth: { readonly jwt?: JwtVerifierOptions; readonly tokens?: readonly PrincipalToken[] };
  /** Pages from these origins may use REST, as a browser writes them; left out: none. */
  readonly origins?: readonly string[];
  /** Sockets at once; see `ConnectionPlaces` for who may have how many. */
  readonly maxConnections: number;
  readonly stream: StreamHubOptions;
  readonly readGate: ReadGateOptions;
  /**
   * A socket is closed if it has not taken its whole answer by then. The stream has its own rule.
   */
  readonly takeAnswerMs: number;
}

const bodyLimit = 32_768;
/**
 * Nothing is written to a socket while a command is tried until its caller's deadline, or while a
 * sweep or a probe runs for a minute or two. Only a peer that reads nothing reaches this
 * limit; streams have their own bound and heartbeats.
 */
const idleMs = 180_000;
/**
 * An idle connection. Longer than the 60 s of usual proxies (nginx, AWS): the first to close must
 * be the side that sends requests, or it answers 502 to a request that met the end.
 */
const keptMs = 75_000;
const keepAliveInitialDelay = 20_000;
/**
 * A revoked token has to end its stream within 5 s: this interval plus that of the readers' checks.
 */
const tokensEveryMs = 2_000;
/**
 * A cancel takes about ten turns of the event loop. All pages together may add at most this to each
 * turn.
 */
const pageSliceMs = 2;
const noNames: ReadonlySet<string> = new Set();
const signInFix =
  'accept tokens of the database, configure static tokens or an issuer of JWTs (issuer, audience, JWKS URL), or listen on 127.0.0.1';

/**
 * REST: commands, reads, the stream of updates and their documents, on one port.
 *
 * States: made → listening → draining (new requests get 503, streams get a last event and end,
 * answers under way finish) → closed. Invariant: no handler runs before the token was checked
 * against its route's scopes.
 */
export class RestServer implements Service {
  readonly name = 'rest';
  private readonly deps: RestParts;
  private readonly options: RestServerOptions;
  private readonly server: FastifyInstance;
  private readonly authenticator: Authenticator;
  private readonly jwt: JwtVerifier | undefined;
  private readonly tokens: StaticTokens | undefined;
  private readonly places: ConnectionPlaces;
  private readonly hub: StreamHub;
  private readonly eventTail: EventTail;
  private readonly deniedWrites: DeniedWrites;
  private readonly origins: ReadonlySet<string>;
  private readonly draining = new AbortController();
  private inFlight = 0;
  private onIdle: (() => void) | undefined;

  constructor(deps: RestParts, options: RestServerOptions) {
    this.deps = deps;
    this.options = options;
    this.origins = new Set(options.origins);
    const { clock, log, reads } = deps;
    const { jwt, tokens } = options.auth;
    const signIn = jwt !== undefined || (tokens !== undefined && tokens.length > 0) || deps.principals !== undefined;
    this.tokens = signIn
      ? new StaticTokens(
          { clock: deps.sharedClock ?? clock, log, tokenChanges: deps.tokenChanges, store: deps.principals },
          { configured: tokens ?? [], refreshEveryMs: tokensEveryMs },
        )
      : undefined;
    this.jwt = jwt && new JwtVerifier({ fetch: deps.fetch, clock, log, metrics: deps.metrics.rest }, jwt);
    this.authenticator = new Authenticator({ jwt: this.jwt, tokens: this.tokens });
    this.places = new ConnectionPlaces(
      { clock, log, metrics: deps.metrics.process },
      { port: 'rest', max: options.maxConnections, signIn },
    );
    const ofStream = { clock, log, reads, metrics: deps.metrics.rest };
    this.hub = new StreamHub({ ...ofStream, unacknowledged: readUnacknowledged }, options.stream);
    this.eventTail = new EventTail(ofStream, options.stream);
    this.deniedWrites = new DeniedWrites(deps);
    this.server = this.build({
      ...deps,
      authenticator: this.authenticator,
      pages: new Pages(new LoopShare(clock, { sliceMs: pageSliceMs })),
      hub: this.hub,
      eventTail: this.eventTail,
      documents: new MadeDocuments(routeTable, options.version),
      draining: this.draining.signal,
    });
  }

  /** `http://host:port` as bound; undefined before `start`. */
  get address(): string | undefined {
    return addressOf(this.server);
  }

  /**
   * Rejects when the port is taken, and when other machines could reach it and no caller would have
   * to sign in.
   */
  async start(): Promise<void> {
    const { host, port } = this.options;
    if (!this.authenticator.required && !isLoopbackHost(host))
      throw new ProgramError(`REST does not listen on ${host} without sign-in: ${signInFix}`, {
        code: 'AUTH_REQUIRED',
      });
    this.jwt?.keys.start();
    await this.tokens?.start();
    this.hub.start();
    this.eventTail.start();
    this.deps.console?.start();
    await listenOn(this.server, { host, port, setting: 'TIDEMARK_HTTP_PORT' });
    this.deps.log.info({ address: this.address, signIn: this.authenticator.required }, 'REST port open');
  }

  /**
   * This process committed a batch: the stream reads the log now. Cheap while the stream has no
   * reader.
   */
  wake(): void {
    this.hub.wake();
  }

  async drain(signal: AbortSignal): Promise<void> {
    this.draining.abort();
    this.jwt?.keys.stop();
    this.tokens?.stop();
    this.hub.stop();
    this.eventTail.stop();
    const consoleStopped = this.deps.console?.stop();
    await this.idle(signal);
    await this.server.close();
    this.places.close();
    await this.deps.forwarding.close();
    this.deniedWrites.flush();
    if (!signal.aborted) await this.deps.auditTrail.drained();
    await consoleStopped;
  }

  private idle(signal: AbortSignal): Promise<void> {
    if (this.inFlight === 0 || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.onIdle = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  private build(parts: RouteParts): FastifyInstance {
    const { log, metrics, random } = this.deps;
    const server = Fastify({
      logger: false,
      bodyLimit,
      connectionTimeout: idleMs,
      requestTimeout: 10_000,
      keepAliveTimeout: keptMs,
      forceCloseConnections: true,
      return503OnClosing: false,
      exposeHeadRoutes: true,
      requestIdHeader: false,
      genReqId: (request) => givenRequestId(request) ?? random.uuid(),
      clientErrorHandler: (error, socket) => answerClientError(random, error, socket),
      frameworkErrors: (error, _request, reply) => void answerProblem(log, error, this.opened(reply)),
      // TCP's keep-alive: the kernel notices an idle peer that is gone without a word.
      http: {
        maxHeaderSize: 8192,
        headersTimeout: 5000,
        connectionsCheckingInterval: 1000,
        keepAlive: true,
        keepAliveInitialDelay,
      },
      // Ids are bounded by their grammar: decoded they have at most 256 UTF-16 units.
      routerOptions: { maxParamLength: 400 },
      rewriteUrl: ({ url = '/' }) => pathOf(url),
    });
    this.places.watch(server.server);
    server.removeAllContentTypeParsers();
    // As bytes, with any type: only the route knows whether it takes a body at all (read-body.ts).
    server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));
    server.setNotFoundHandler(answerUnknownPath);
    server.setErrorHandler((error, _request, reply) => answerProblem(log, error, reply));
    server.addHook('onRequest', (request, reply, done) => this.receive(request, reply, done));
    server.addHook('onResponse', (request, reply, done) => {
      // A stream lasts for as long as its reader wants, so its duration is not an answer's time.
      if (request.routeOptions.url !== '/v1/stream') observeRequest(metrics, request, reply);
      done();
    });
    server.addHook('onSend', (_request, reply, _payload, done) => {
      this.cutSlowReader(reply);
      done();
    });
    server.decorate('deniedWrites', this.deniedWrites);
    const gate = new ReadGate({ clock: this.deps.clock, metrics: metrics.rest }, this.options.readGate);
    serveRoutes(server, routeTable, { gate, places: this.places, parts });
    if (this.deps.console !== undefined) serveConsole(server, this.deps.console);
    if (this.deps.demo !== undefined) serveDemo(server, this.deps.demo);
    return server;
  }

  private opened(reply: FastifyReply): FastifyReply {
    reply.headers(securityHeaders).header('x-request-id', reply.request.id);
    allowOrigin(reply, reply.request.headers.origin, this.origins);
    return reply;
  }

  private receive(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    this.inFlight += 1;
    // fastify's onResponse is not called when the caller disconnects early; `close` is, always and
    // once.
    reply.raw.once('close', this.left);
    this.opened(reply);
    // Also while draining: the next request is answered, and its page can read why.
    if (answerPreflight(reply, this.origins)) return;
    if (this.draining.signal.aborted) {
      reply.header('connection', 'close').header('retry-after', '5');
      sendProblem(reply, 'DRAINING');
      return;
    }
    const fault = headerFault(request.raw);
    if (fault !== undefined) {
      // The body, if there is one, is not read, so the connection ends.
      sendProblem(reply.header('connection', 'close'), fault.code, fault.detail);
      return;
    }
    if (!this.authenticator.required && !namesThisHost(request.raw, noNames)) {
      sendProblem(reply, 'HOST_NOT_LOOPBACK');
      return;
    }
    // Also with sign-in, although no page has a token then: one rule that does not depend on the
    // sign-in.
    if (isChangeByForeignPage(request.raw, this.origins)) {
      sendProblem(reply, 'CROSS_SITE_REQUEST');
      return;
    }
    done();
  }

  /**
   * For an answer about to be written: a reader that takes nothing would keep it in memory without
   * end.
   */
  private cutSlowReader({ raw }: FastifyReply): void {
    const { clock, metrics } = this.deps;
    const timer = clock.after(this.options.takeAnswerMs, () => {
      metrics.rest.slowReaders.inc();
      raw.destroy();
    });
    raw.once('close', () => timer.cancel());
  }

  private readonly left = (): void => {
    this.inFlight -= 1;
    if (this.inFlight === 0) this.onIdle?.();
  };
}
