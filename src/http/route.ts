import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Commands } from '../commands/commands.ts';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import type { OrderReads } from '../store/order-reads.ts';
import type { Authenticator } from './auth/authenticator.ts';
import type { Principal, Scope } from './auth/principal.ts';
import type { IdKind } from './request-fields.ts';
import type { Pages } from './send-page.ts';
import type { StreamHub } from './stream/stream-hub.ts';

/** What every route may use. */
export interface RouteParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly authenticator: Authenticator;
  readonly commands: Commands;
  /** Of a route that changes something: on connections of its own, so that it stands behind no caller's pages. */
  readonly reads: OrderReads;
  readonly pages: Pages;
  readonly hub: StreamHub;
  readonly documents: Documents;
  /** Aborts when the server drains: what only waits for news answers then. */
  readonly draining: AbortSignal;
}

/** Texts that are made once, of the table of routes and the schemas. */
export interface Documents {
  readonly openapi: string;
  readonly asyncapi: string;
  readonly page: string;
  /** Content-Security-Policy of the page. */
  readonly pagePolicy: string;
}

/** One request, read and judged as far as the table of routes says. */
export interface Call<Query = Readonly<Record<string, unknown>>> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly principal: Principal;
  /** Every one is of the grammar that the route names for it. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

export interface Answer {
  readonly describe: string;
  /** Absent: no body. */
  readonly schema?: z.ZodType;
  readonly type?: string;
  readonly headers?: readonly string[];
}

/** One entry of the table from which the routes, OpenAPI and the matrix of authorization tests are made. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** In OpenAPI's spelling: `/v1/commands/{commandId}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly describe?: string;
  readonly tag: 'orders' | 'commands' | 'operations' | 'stream' | 'documents';
  /** One of them is enough. `public`: needs no token, though a bad one is refused here as well. */
  readonly scopes: 'public' | readonly [Scope, ...Scope[]];
  readonly params?: Readonly<Record<string, IdKind>>;
  /** Strict: a parameter that it does not name is refused. Absent: none is taken. */
  readonly query?: z.ZodObject;
  /** Shown in OpenAPI; the handler parses it. */
  readonly body?: z.ZodType;
  /** Request headers with a meaning here, beside those of every route. */
  readonly headers?: readonly ('Idempotency-Key' | 'Prefer' | 'If-Match' | 'If-None-Match' | 'Last-Event-ID')[];
  readonly answers: Readonly<Record<number, Answer>>;
  /** Codes of problems beside those of every route, by status. */
  readonly problems?: Readonly<Record<number, readonly string[]>>;
  /** GET only: rows that an answer may have, where `query` has no `limit` that says it (read-gate.ts). Left out: 1. */
  readonly rows?: number;
  /** Sends the answer, or takes the socket over. */
  readonly handle: (parts: RouteParts, call: Call) => Promise<FastifyReply | undefined> | FastifyReply | undefined;
}

/** Types the query of a route by its shape: the table itself holds routes of every shape. */
export function route<Shape extends z.ZodObject>(
  definition: Omit<Route, 'query' | 'handle'> & {
    readonly query: Shape;
    readonly handle: (
      parts: RouteParts,
      call: Call<z.infer<Shape>>,
    ) => Promise<FastifyReply | undefined> | FastifyReply | undefined;
  },
): Route {
  // Sound: `serve-route.ts` hands the handler nothing but what this very shape has parsed.
  return definition as unknown as Route;
}
