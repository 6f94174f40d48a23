import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Principal, Scope } from './auth/principal.ts';
import type { IdKind } from './request-fields.ts';
import type { RouteParts } from './route-parts.ts';

/** One request, read and checked as far as the table of routes says. */
export interface Call<Query = Readonly<Record<string, unknown>>> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly principal: Principal;
  /** Each matches the grammar that the route names for it. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

export interface Answer {
  readonly describe: string;
  /** Absent: no body. */
  readonly schema?: z.ZodType;
  readonly type?: string;
  /** Of a body without a shape. */
  readonly example?: unknown;
  readonly headers?: readonly string[];
}

/**
 * One entry of the table from which the routes, OpenAPI and the
 * matrix of authorization tests are made.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** In OpenAPI's spelling: `/v1/commands/{commandId}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly describe?: string;
  readonly tag: 'orders' | 'commands' | 'stream' | 'accounts' | 'operations' | 'service' | 'quarantine' | 'documents';
  /** Any one of them is enough. `public`: no token is needed, but a bad one is refused here too. */
  readonly scopes: 'public' | readonly [Scope, ...Scope[]];
  readonly params?: Readonly<Record<string, IdKind>>;
  /**
   * Strict: a parameter that it does not name is refused. Absent: the route takes no parameters.
   */
  readonly query?: z.ZodObject;
  /** Shown in OpenAPI; the handler parses it. */
  readonly body?: z.ZodType;
  /** Request headers that this route reads, in addition to those of every route. */
  readonly headers?: readonly ('Idempotency-Key' | 'Prefer' | 'If-Match' | 'If-None-Match' | 'Last-Event-ID')[];
  readonly answers: Readonly<Record<number, Answer>>;
  /** Codes of problems in addition to those of every route, by status. */
  readonly problems?: Readonly<Record<number, readonly string[]>>;
  /**
   * Not GET, and a read all the same: it passes the gate of reads, so that it holds up no command.
   */
  readonly changesNothing?: true;
  /**
   * Reads only: rows that an answer may have, if `query` has no
   * `limit` (read-gate.ts). Left out: 1.
   */
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
  // Safe: `serve-routes.ts` gives the handler only a query that this shape has parsed.
  return definition as unknown as Route;
}

/**
 * Whether the route reads the database for its caller and answers at once. The stream has its own
 * bounds; documents are made once.
 */
export function isRead({ method, changesNothing, tag, scopes }: Route): boolean {
  return (method === 'GET' || changesNothing === true) && tag !== 'stream' && scopes !== 'public';
}
