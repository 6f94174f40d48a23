import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mostFaults, nameToShow, ownWords, wordsOf } from '../../contract/body-fields.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Timer } from '../../runtime/clock.ts';
import type { AuditTrail } from '../commands/audit-trail.ts';
import { type AuthResult, loopbackPrincipal, maySee, type Principal } from './auth/principal.ts';
import type { ConnectionPlaces } from './connection-places.ts';
import { isPreflight } from './cross-origin.ts';
import { readBody } from './read-body.ts';
import type { ReadGate, ReadPass } from './read-gate.ts';
import { type IdKind, idKinds, idsIn, notFound, pageDefault } from './request-fields.ts';
import { headerFaults } from './request-headers.ts';
import { type Call, isRead, type Route, type RouteParts } from './route.ts';
import { sendBodyFaults, sendProblem } from './send-answer.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the token was checked; every handler runs after that. */
    principal: Principal | undefined;
  }
}

interface ServeDeps {
  readonly gate: ReadGate;
  readonly places: Pick<ConnectionPlaces, 'signIn'>;
  readonly parts: RouteParts;
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * Registers the table on the server. A request passes the token first, then the path, the
 * parameters, the account that they name, the body with its account, the headers, and the handler.
 * No part of the body is read before the token was checked.
 */
export function serveRoutes(server: FastifyInstance, routes: readonly Route[], deps: ServeDeps): void {
  server.decorateRequest('principal', undefined);
  server.decorateRequest('headerFaults', undefined);
  const partsOfChanges = { ...deps.parts, reads: deps.parts.commandReads };
  for (const route of routes) {
    const handle = isRead(route)
      ? (call: Call) => passGate(deps, route, call)
      : (call: Call) => route.handle(route.method === 'GET' ? deps.parts : partsOfChanges, call);
    const ids = idsIn(route.path);
    server.route({
      method: route.method,
      url: fastifyPath(route.path),
      exposeHeadRoute: route.tag !== 'stream',
      onRequest: (request, reply, done) => authorize(route, deps, request, reply, done),
      handler: (request, reply) => serve(route, ids, handle, request, reply),
    });
  }
  for (const path of new Set(routes.map((route) => route.path))) refuseOtherMethods(server, path, routes);
}

function fastifyPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`);
}

function refuseOtherMethods(server: FastifyInstance, path: string, routes: readonly Route[]): void {
  // A route with a parameter may serve other methods on this path: an order may have the id
  // "counts", and can be cancelled.
  const own = routes.filter((route) => route.path === path || patternOf(route.path).test(path));
  const allowed = own.flatMap(({ method, tag }) => (method === 'GET' && tag !== 'stream' ? ['GET', 'HEAD'] : [method]));
  const allow = allowed.join(', ');
  server.route({
    method: methods.filter((method) => !allowed.includes(method)),
    url: fastifyPath(path),
    exposeHeadRoute: false,
    // Before any body is read.
    onRequest: (request, reply) => {
      // Allowed origins' preflights are answered before.
      const detail = isPreflight(request)
        ? 'pages of this origin may not ask: TIDEMARK_HTTP_ORIGINS does not name it'
        : undefined;
      sendProblem(reply.header('allow', allow), 'METHOD_NOT_ALLOWED', detail);
    },
    handler: () => undefined,
  });
}

function authorize(
  route: Route,
  deps: ServeDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  done: () => void,
): void {
  const { authorization } = request.headers;
  if (route.scopes === 'public' && authorization === undefined) {
    // Public routes' handlers don't look at it.
    request.principal = loopbackPrincipal;
    done();
    return;
  }
  const judged = deps.parts.authenticator.authenticate(authorization);
  if (judged instanceof Promise) void judged.then((result) => admit(route, deps, result, request, reply, done));
  else admit(route, deps, judged, request, reply, done);
}

function admit(
  route: Route,
  { parts, places }: ServeDeps,
  result: AuthResult,
  request: FastifyRequest,
  reply: FastifyReply,
  done: () => void,
): void {
  if (result.kind === 'unavailable') {
    sendProblem(reply.header('retry-after', '5'), 'AUTH_UNAVAILABLE');
  } else if (result.kind === 'refused') {
    parts.metrics.rest.authFailures.inc({ reason: result.reason });
    // The same for every kind of bad token: only the log and the metric show which check it failed
    // (RFC 6750 3.1).
    const isMissing = result.reason === 'missing';
    reply.header('www-authenticate', isMissing ? 'Bearer' : 'Bearer error="invalid_token"');
    sendProblem(reply, isMissing ? 'UNAUTHENTICATED' : 'INVALID_TOKEN');
  } else if (!places.signIn(request.raw.socket, result.principal)) {
    sendProblem(reply.header('connection', 'close'), 'TOO_MANY_CONNECTIONS');
  } else if (route.scopes === 'public' || route.scopes.some((scope) => result.principal.scopes.has(scope))) {
    request.principal = result.principal;
    reply.header('tidemark-instance', parts.forwarding.instance);
    done();
  } else {
    request.principal = result.principal;
    const needed = route.scopes.join(' ');
    reply.header('www-authenticate', `Bearer error="insufficient_scope", scope="${needed}"`);
    sendProblem(reply, 'INSUFFICIENT_SCOPE', `the token has none of the scopes that this needs: ${needed}`);
  }
}

function serve(
  route: Route,
  ids: readonly IdKind[],
  handle: (call: Call) => ReturnType<Route['handle']>,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { principal } = request;
  // Unreachable: `authorize` answers itself or sets it. A route without an authorization must not
  // be served by mistake.
  if (principal === undefined) throw new Error('a request came past the authorization');
  const params = request.params as Readonly<Record<string, string>>;
  for (const kind of ids) if (!idKinds[kind].test(params[kind] ?? '')) return sendProblem(reply, notFound[kind]);
  const wrongHeaders = headerFaults(route.headers ?? [], request);
  request.headerFaults = wrongHeaders;
  const query = readQuery(route, request);
  if ('faults' in query) return sendProblem(reply, 'INVALID_PARAMETER', undefined, { faults: query.faults });
  const json = readBody(request, route.body !== undefined);
  if (!json.ok) return sendProblem(reply, json.code, json.detail);
  request.body = json.value;
  const isHidden = ({ accountId }: Readonly<Record<string, unknown>>) =>
    typeof accountId === 'string' && !maySee(principal.accounts, accountId);
  if (isHidden({ ...query.value, ...params })) return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
  const parsed = route.parse?.(json.value) ?? { ok: true };
  if (!parsed.ok) return sendBodyFaults(reply, route, parsed.faults);
  const { ok: _ok, ...body } = parsed;
  if (isHidden(body)) return sendProblem(reply, 'ACCOUNT_NOT_FOUND');
  const [wrong] = wrongHeaders;
  if (wrong !== undefined) return sendProblem(reply, wrong.code);
  return handle({ request, reply, principal, params, query: query.value, body });
}

async function passGate({ gate, parts }: ServeDeps, route: Route, call: Call): Promise<FastifyReply | undefined> {
  const { reply, principal, query } = call;
  const { raw } = reply;
  const held: { pass?: ReadPass | undefined } = {};
  const enter = async (rows = rowsOf(route, query)) => {
    held.pass = await gate.enter(principal.name, rows);
    // Its caller may have left while it waited.
    return held.pass !== undefined && !raw.closed;
  };
  const outsideGate = async (wait: () => Promise<void>, rows?: number) => {
    held.pass?.read(0);
    held.pass?.taken();
    held.pass = undefined;
    await wait();
    return !raw.closed && enter(rows);
  };
  try {
    const answer = (await enter()) ? await route.handle(parts, { ...call, outsideGate }) : undefined;
    if (raw.closed) return reply.hijack();
    return held.pass === undefined ? sendProblem(reply, 'TOO_MANY_READS') : answer;
  } finally {
    const { pass } = held;
    pass?.read(raw.closed ? 0 : raw.writableLength);
    if (raw.closed) pass?.taken();
    else raw.once('close', () => pass?.taken());
  }
}

function rowsOf({ query: shape, rows }: Route, { limit }: Readonly<Record<string, unknown>>): number {
  const isPage = shape !== undefined && 'limit' in shape.shape;
  return typeof limit === 'number' ? limit : (rows ?? (isPage ? pageDefault : 1));
}

type Query =
  | { readonly value: Readonly<Record<string, unknown>> }
  | { readonly faults: readonly { readonly path: string; readonly message: string }[] };

const noQuery: Query = { value: {} };

function readQuery({ query: shape }: Route, request: FastifyRequest): Query {
  const given = request.query as Record<string, unknown>;
  if (shape === undefined) {
    const faults = unknownParameters(Object.keys(given));
    return faults.length === 0 ? noQuery : { faults };
  }
  const parsed = shape.safeParse({ ...given }, ownWords);
  if (parsed.success) return { value: parsed.data };
  return {
    faults: parsed.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownParameters(issue.keys)
        : [
            {
              path: issue.path.join('.'),
              message: Array.isArray(given[String(issue.path[0])])
                ? 'is given twice, and takes one value'
                : wordsOf(issue, given),
            },
          ],
    ),
  };
}

function unknownParameters(names: readonly string[]) {
  return names
    .slice(0, mostFaults)
    .map((name) => ({ path: nameToShow(name), message: 'is not a parameter of this route' }));
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Set on a server that can deny writes. */
    deniedWrites: DeniedWrites | undefined;
  }
}

interface DeniedWritesDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly auditTrail: Pick<AuditTrail, 'record'>;
}

interface Denied {
  readonly principal: string;
  readonly route: string;
  readonly code: string;
  readonly accountId?: string;
  /** Whether the token names that account. */
  readonly ofToken?: boolean;
  readonly requestId: string;
}

/** Equal denials within this time are reported once, and then with their number. */
const windowMs = 60_000;
/**
 * This many different denials of one principal are reported one by one; further ones are reported
 * as one, `SEVERAL`, with their number. These also show a sender that tries one account after
 * another.
 */
const mostOfPrincipal = 20;

/**
 * Reports a principal's denied writes (403, or 404 for things that it may not see), in the log and
 * in the audit trail: principal, route, account, reason. Requests without a principal (401) are
 * only counted by the metric, since their sender is unknown.
 *
 * Invariant: a principal causes at most `2 * (mostOfPrincipal + 1)` entries in `windowMs`, however
 * many writes it is denied. The `times` in all entries add up to the number of denials.
 */
export class DeniedWrites {
  /** By principal, then by denied write: how often it came since the last report. */
  private readonly reported = new Map<string, Map<string, { readonly denied: Denied; unreported: number }>>();
  private timer: Timer | undefined;
  private readonly deps: DeniedWritesDeps;

  constructor(deps: DeniedWritesDeps) {
    this.deps = deps;
  }

  /** Called for every problem in an answer; takes only denied writes. */
  note(request: FastifyRequest, status: number, code: string): void {
    const { principal, method } = request;
    if (principal === undefined || (status !== 403 && status !== 404) || method === 'GET' || method === 'HEAD') return;
    this.deny({
      principal: principal.name,
      code,
      requestId: request.id,
      route: `${method} ${request.routeOptions.url ?? ''}`,
      ...accountOf(request, principal),
    });
  }

  /** Reports now everything that was not reported yet. */
  flush(): void {
    this.timer?.cancel();
    this.timer = undefined;
    for (const ofPrincipal of this.reported.values())
      for (const { denied, unreported } of ofPrincipal.values()) if (unreported > 0) this.report(denied, unreported);
    this.reported.clear();
  }

  private deny(denied: Denied): void {
    this.timer ??= this.deps.clock.after(windowMs, () => this.flush());
    const { principal, route, code, accountId } = denied;
    const ofPrincipal = this.reported.get(principal) ?? new Map();
    this.reported.set(principal, ofPrincipal);
    const known = JSON.stringify([route, code, accountId]);
    const fits = ofPrincipal.has(known) || ofPrincipal.size < mostOfPrincipal;
    const key = fits ? known : 'several';
    const before = ofPrincipal.get(key);
    if (before !== undefined) {
      before.unreported += 1;
      return;
    }
    const counted = fits ? denied : { principal, route: 'several', code: 'SEVERAL', requestId: denied.requestId };
    ofPrincipal.set(key, { denied: counted, unreported: 0 });
    this.report(counted, 1);
  }

  private report({ principal, code, accountId, requestId, ...where }: Denied, times: number): void {
    const { log, auditTrail, clock } = this.deps;
    log.warn({ principal, code, accountId, requestId, ...where, times }, 'a write was denied');
    const named = accountId === undefined ? {} : { accountId };
    const detail = { ...where, times };
    auditTrail.record({ atMs: clock.nowMs(), principal, action: 'denied', reason: code, requestId, ...named, detail });
  }
}

/**
 * From the path, the query, or a body that was read and is an object. A text that can't be an
 * account is left out: it is the caller's.
 */
function accountOf(
  { params, query, body }: FastifyRequest,
  { accounts }: Principal,
): Pick<Denied, 'accountId' | 'ofToken'> {
  const { accountId, tradingAccountId } = { ...asObject(query), ...asObject(body), ...asObject(params) };
  const text = accountId ?? tradingAccountId;
  if (typeof text !== 'string' || !idKinds.accountId.test(text)) return {};
  return { accountId: text, ofToken: maySee(accounts, text) };
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Buffer.isBuffer(value)
    ? (value as Record<string, unknown>)
    : {};
}
