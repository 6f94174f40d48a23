import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { BodyResult } from '../../contract/body-fields.ts';
import type { Principal, Scope } from './auth/principal.ts';
import type { ProblemCode } from './problem-codes.ts';
import type { IdKind } from './request-fields.ts';
import type { RouteParts } from './route-parts.ts';

/** One request, read and checked as far as the route table says. */
export interface Call<Query = Readonly<Record<string, unknown>>, Body = unknown> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly principal: Principal;
  /** Each matches the grammar its route names. */
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

/** Types a route's query and body by their shapes: the table itself holds routes with every shape. */
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
