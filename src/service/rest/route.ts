import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Principal, Scope } from './auth/principal.ts';
import type { ProblemCode } from './problem-codes.ts';
import type { IdKind } from './request-fields.ts';
import type { RouteParts } from './route-parts.ts';

/** One request, read and checked as far as the route table says. */
export interface Call<Query = Readonly<Record<string, unknown>>> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly principal: Principal;
  /** Each matches the grammar its route names. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
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
  /** In OpenAPI's spelling: `/v1/commands/{commandId}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly describe?: string;
  readonly tag: 'orders' | 'commands' | 'stream' | 'accounts' | 'operations' | 'service' | 'dead-letters' | 'documents';
  /** Any one is enough. `public`: no token is needed, but a bad one is refused here too. */
  readonly scopes: 'public' | readonly [Scope, ...Scope[]];
  readonly params?: Readonly<Record<string, IdKind>>;
  /** Strict: any other parameter is refused. Absent: the route takes no parameters. */
  readonly query?: z.ZodObject;
  /** Shown in OpenAPI; the handler parses it. */
  readonly body?: z.ZodType;
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

/** Types a route's query by its shape: the table itself holds routes with every shape. */
export function route<Shape extends z.ZodObject>(
  definition: Omit<Route, 'query' | 'handle'> & {
    readonly query: Shape;
    readonly handle: (
      parts: RouteParts,
      call: Call<z.infer<Shape>>,
    ) => Promise<FastifyReply | undefined> | FastifyReply | undefined;
  },
): Route {
  // Safe: `serve-routes.ts` parses each query with this shape before the handler gets it.
  return definition as unknown as Route;
}

/**
 * Whether the route reads the database for its caller and answers at once. The stream has its own
 * bounds; documents are made once.
 */
export function isRead({ method, changesNothing, tag, scopes }: Route): boolean {
  return (method === 'GET' || changesNothing === true) && tag !== 'stream' && scopes !== 'public';
}
