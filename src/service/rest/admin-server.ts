import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Ambient } from '../../observability/ambient.ts';
import type { EventLoopWatch } from '../../observability/event-loop-watch.ts';
import type { HealthRegistry } from '../../observability/health.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { namesThisHost } from '../../runtime/browser-guard.ts';
import type { Service } from '../../runtime/supervisor.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import { addressOf, ConnectionPlaces, listenOn } from './connection-places.ts';
import { answerProblem, answerUnknownPath, observeRequest, sendProblem } from './send-answer.ts';

interface AdminServerDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly metrics: Metrics;
  readonly health: HealthRegistry;
  readonly eventLoop: EventLoopWatch;
  /** The body of `/status`: anything JSON can hold, without secrets. */
  readonly status: () => unknown;
}

interface AdminServerOptions {
  readonly host: string;
  /** 0: any free port; see `address`. */
  readonly port: number;
  /** Names `Host` may have besides loopback, `host` and the address a request came to. */
  readonly names?: readonly string[] | undefined;
}

const statusDeadlineMs = 5000;
/**
 * Probes and scrapes are few. Without a bound strangers could take every socket the process may
 * open.
 */
const maxConnections = 200;

/**
 * The admin port: `/livez`, `/readyz`, `/status`, `/metrics`. A separate port, so that probes and
 * scrapes neither need a sign-in nor queue behind callers. It is the last part to drain, so that a
 * draining process still answers that it is not ready.
 *
 * `start` rejects when the port is taken: a process that can't be observed must not run.
 */
export class AdminServer implements Service {
  readonly name = 'admin';
  private readonly server: FastifyInstance;
  private readonly places: ConnectionPlaces;
  private readonly deps: AdminServerDeps;
  private readonly options: AdminServerOptions;

  constructor(deps: AdminServerDeps, options: AdminServerOptions) {
    this.deps = deps;
    this.options = options;
    this.server = buildServer(deps, options);
    const { clock, log, metrics } = deps;
    this.places = new ConnectionPlaces(
      { clock, log, metrics: metrics.process },
      { port: 'admin', max: maxConnections, signIn: false },
    );
    this.places.watch(this.server.server);
  }

  /** `http://host:port` as bound; undefined before `start`. */
  get address(): string | undefined {
    return addressOf(this.server);
  }

  async start(): Promise<void> {
    this.deps.eventLoop.start();
    const { host, port } = this.options;
    await listenOn(this.server, { host, port, setting: 'TIDEMARK_ADMIN_PORT' });
    this.deps.log.info({ address: this.address }, 'admin port open');
  }

  /** Closes at once, connections included: an answer here is never worth waiting for. */
  async drain(): Promise<void> {
    this.deps.eventLoop.stop();
    await this.server.close();
    this.places.close();
  }
}

/**
 * The same limits as on the REST port, as far as they apply: headers 8 KiB and 64, header deadline
 * 5 s, request 10 s. No body is read at all.
 */
function buildServer(deps: AdminServerDeps, { host, names = [] }: AdminServerOptions): FastifyInstance {
  const server = Fastify({
    logger: false,
    bodyLimit: 1024,
    connectionTimeout: 10_000,
    requestTimeout: 10_000,
    keepAliveTimeout: 30_000,
    forceCloseConnections: true,
    return503OnClosing: false,
    exposeHeadRoutes: true,
    http: { maxHeaderSize: 8192, headersTimeout: 5000, connectionsCheckingInterval: 1000 },
    routerOptions: { maxParamLength: 100 },
  });
  server.server.maxHeadersCount = 64;
  server.setNotFoundHandler(answerUnknownPath);
  server.setErrorHandler((error, _request, reply) => answerProblem(deps.log, error, reply));
  const allowed = new Set([host, ...names].map((name) => name.toLowerCase()));
  server.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    if (!namesThisHost(request.raw, allowed)) return sendProblem(reply, 'HOST_NOT_NAMED');
  });
  server.addHook('onResponse', async (request, reply) => observeRequest(deps.metrics, request, reply));
  addRoutes(server, deps);
  return server;
}

function addRoutes(server: FastifyInstance, { health, eventLoop, metrics, status, clock }: AdminServerDeps): void {
  server.get('/livez', async (_request, reply) => {
    const { ok, detail } = eventLoop.check();
    return reply.code(ok ? 200 : 503).send({ status: ok ? 'live' : 'stuck', detail });
  });
  server.get('/readyz', async (request, reply) => answerReady(health, request, reply));
  server.get('/status', async (_request, reply) => {
    const body = await withDeadline(clock, statusDeadlineMs, 'status', Promise.resolve().then(status));
    return reply.type('application/json; charset=utf-8').send(JSON.stringify(body, undefined, 2));
  });
  server.get('/metrics', async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  );
}

/**
 * `?role=leader`: ready only if commands would be taken. `?verbose`: with every check; without it
 * only the verdict, enough for a probe.
 */
async function answerReady(
  health: HealthRegistry,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = new URL(request.url, 'http://admin').searchParams;
  const role = query.get('role');
  if (role !== null && role !== 'leader') {
    return sendProblem(reply, 'UNKNOWN_ROLE');
  }
  const report = await health.report();
  const ready = role === 'leader' ? report.leader : report.status !== 'unready';
  const verdict = { status: ready || report.status === 'unready' ? report.status : 'not_leader' };
  return reply.code(ready ? 200 : 503).send(query.has('verbose') ? { ...verdict, checks: report.checks } : verdict);
}
