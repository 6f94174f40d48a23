import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { BodyResult } from '../../contract/body-fields.ts';
import { parseReason, reasonBody } from '../../contract/command-bodies.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AccountRepairs } from '../../store/account-repairs.ts';
import type { DeadLetterAccess } from '../../store/dead-letters/dead-letter-access.ts';
import type { ReadIfChanged } from '../../store/fleet/changes.ts';
import type { FleetActions } from '../../store/fleet/fleet-actions.ts';
import type { OrderReads } from '../../store/orders/order-reads.ts';
import type { PrincipalStore } from '../../store/principals.ts';
import type { AuditTrail } from '../commands/audit-trail.ts';
import type { Commands } from '../commands/commands.ts';
import type { Authenticator } from './auth/authenticator.ts';
import type { Principal, Scope } from './auth/principal.ts';
import type { ConsoleSite } from './console/console-site.ts';
import type { DemoPassDeps } from './console/demo-pass.ts';
import type { Forwarding } from './instances/forwarding.ts';
import type { ProblemCode } from './problem-codes.ts';
import type { Pages } from './send-page.ts';
import type { AccountStates, ServiceView } from './service-view.ts';
import type { EventTail } from './stream/event-tail.ts';
import type { StreamHub } from './stream/stream-hub.ts';

/** One request, read and checked as far as the route table says. */
export interface Call<Query = Readonly<Record<string, unknown>>, Body = unknown> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly principal: Principal;
  /** Each matches the grammar of its name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** As the route's `parse` has read it. */
  readonly body: Body;
  /**
   * Reads only: waits outside the gate, where it holds up no other read. False: there is no room to
   * read on, and the handler returns undefined. `rows`: what it goes on to read, where that is more
   * than its route's.
   */
  readonly outsideGate?: (wait: () => Promise<void>, rows?: number) => Promise<boolean>;
}

export interface Answer {
  readonly describe: string;
  /** Absent: no body. */
  readonly schema?: z.ZodType;
  readonly type?: string;
  /** For a body without a shape. */
  readonly example?: unknown;
  readonly headers?: readonly string[];
}

/** One entry of the table. Routes, OpenAPI and the authorization tests are made from it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** In OpenAPI's spelling: `/v1/commands/{commandId}`. A parameter has the name of its grammar. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly describe?: string;
  readonly tag: 'orders' | 'commands' | 'stream' | 'accounts' | 'operations' | 'service' | 'dead-letters' | 'documents';
  /** Any one is enough. `public`: no token is needed, but a bad one is refused here too. */
  readonly scopes: 'public' | readonly [Scope, ...Scope[]];
  /** Strict: any other parameter is refused. Absent: the route takes no parameters. */
  readonly query?: z.ZodObject;
  /** Shown in OpenAPI. */
  readonly body?: z.ZodType;
  /**
   * Reads the body by that shape. Its faults are answered before the handler runs: as INVALID_ORDER
   * if that is among `problems`, else as INVALID_BODY.
   */
  readonly parse?: (body: unknown) => BodyResult<object>;
  /** Request headers read by this route, in addition to every route's headers. */
  readonly headers?: readonly ('Idempotency-Key' | 'Prefer' | 'If-Match' | 'If-None-Match' | 'Last-Event-ID')[];
  readonly answers: Readonly<Record<number, Answer>>;
  /** Codes in addition to every route's. */
  readonly problems?: readonly ProblemCode[];
  /**
   * Not GET, and a read all the same: it passes the gate for reads, so that it holds up no command.
   */
  readonly changesNothing?: true;
  /**
   * Reads only: rows that an answer may have, if the request has no `limit` (read-gate.ts). Left
   * out: 50 for a route with a `limit`, else 1.
   */
  readonly rows?: number;
  /** Sends the answer, or takes the socket over. */
  readonly handle: (parts: RouteParts, call: Call) => Promise<FastifyReply | undefined> | FastifyReply | undefined;
}

/** Types a route's query and body by their shapes; the table holds routes with every one. */
export function route<Shape extends z.ZodObject, Body extends object>(
  definition: Omit<Route, 'query' | 'parse' | 'handle'> & {
    readonly query?: Shape;
    readonly parse?: (body: unknown) => BodyResult<Body>;
    readonly handle: (parts: RouteParts, call: Call<z.infer<Shape>, Body>) => ReturnType<Route['handle']>;
  },
): Route {
  // Safe: `serve-routes.ts` parses both with these before the handler gets them.
  return definition as unknown as Route;
}

/**
 * Whether the route reads the database for its caller and answers at once. The stream has its own
 * bounds; documents are made once.
 */
export function isRead({ method, changesNothing, tag, scopes }: Route): boolean {
  return (method === 'GET' || changesNothing === true) && tag !== 'stream' && scopes !== 'public';
}

/** An operator's read, and an act with its reason. */
export const operatorRead = { method: 'GET', scopes: ['ops:read'] } as const;
export const operatorAct = { method: 'POST', scopes: ['ops:write'], body: reasonBody, parse: parseReason } as const;
/** A read of a caller who may do either. */
export const anyRead = { method: 'GET', scopes: ['orders:read', 'ops:read'] } as const;
/** For a route whose body is no order. */
export const ofBody = ['INVALID_BODY', 'UNKNOWN_FIELD'] as const;
/** For a route that the account's process carries out. */
export const atHolder = ['NOT_LEADER', 'FORWARD_UNANSWERED'] as const;

/** The service's parts as REST gets them. */
export interface RestParts extends Ambient {
  /** Reads the issuer's keys. */
  readonly fetch: typeof fetch;
  /** The database's wall time, for the ends of its tokens. Left out: that of `clock`. */
  readonly sharedClock?: Clock;
  readonly metrics: Metrics;
  readonly commands: Commands;
  readonly reads: OrderReads;
  /**
   * The same on separate connections. A changing route gets them as its `reads`, so it never waits
   * behind a caller's pages.
   */
  readonly commandReads: OrderReads;
  readonly service: ServiceView;
  readonly deadLetters: DeadLetterAccess;
  /** Operators' wishes about the fleet. */
  readonly fleet: FleetActions;
  /** Account reads that people ask for. */
  readonly repairs: AccountRepairs;
  readonly accountStates: AccountStates;
  readonly forwarding: Forwarding;
  /** Records denied writes, and acts no other part records. */
  readonly auditTrail: Pick<AuditTrail, 'record' | 'drained'>;
  /**
   * The database's tokens, in addition to the configured ones. If it is given, every caller has to
   * sign in, even while it holds no token.
   */
  readonly principals?: PrincipalStore;
  /** Spares their reads. Left out: none. */
  readonly tokenChanges?: ReadIfChanged;
  /** Left out: there is no console, and its addresses do not exist. */
  readonly console?: ConsoleSite;
  /** Only in the demo: the way to "Break it". */
  readonly demo?: DemoPassDeps;
  /** Left out: traces are off. */
  readonly tracing?: Tracing | undefined;
}

/** A route may use the same parts, and those that REST itself adds. */
export interface RouteParts extends RestParts {
  readonly authenticator: Authenticator;
  readonly pages: Pages;
  readonly hub: StreamHub;
  readonly eventTail: EventTail;
  /** `documents/` makes them. */
  readonly documents: Readonly<Record<'openapi' | 'asyncapi' | 'page' | 'pagePolicy', string>>;
  /** Aborts when the server drains: requests that only wait for news are answered then. */
  readonly draining: AbortSignal;
}
