import { z } from 'zod';
import { problemAnswer } from '../../../contract/rest-answers.ts';
import { problem } from '../problem.ts';
import { exampleOf, type ProblemCode, problemText, statusOf } from '../problem-codes.ts';
import { idPattern, idsIn, notFound } from '../request-fields.ts';
import { type Answer, isRead, type Route } from '../route.ts';
import { streamIdPattern } from '../stream/stream-event.ts';
import { componentSchemas, type JsonSchema, schemaId } from './component-schemas.ts';
import { examplesOf } from './examples/find-examples.ts';

const root = '#/components/schemas/';

/** In the order of the page. */
const tagTexts: readonly (readonly [name: Route['tag'], text: string])[] = [
  ['orders', 'Orders, and the commands that place, replace and cancel them'],
  ['commands', 'What was asked for, what became of it, and the evidence'],
  ['stream', 'Changes as they are committed'],
  ['accounts', 'The accounts that are followed, and reads of them on request'],
  ['operations', 'Halts, limits, cancel-all and approvals'],
  ['service', 'The state of the service, its caller, and its readers at Kafka'],
  ['dead-letters', 'Messages that were unreadable or not accepted'],
  ['documents', 'This interface itself'],
];

const bearerText =
  'A JWT of the configured issuer, or a static token. An operation lists the scopes of which the token needs one: `orders:read`, `orders:write`, `ops:read`, `ops:write`; none includes another. Without sign-in the port takes requests of this machine only, and they need no token.';

/**
 * Every route in the table as OpenAPI 3.1: the handlers parse with the same shapes, and the tests
 * validate answers against them.
 */
export function openapiDocument(routes: readonly Route[], version: string) {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
  const shapes = routes.flatMap(({ body, answers }) => [body, ...Object.values(answers).map(({ schema }) => schema)]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tidemark',
      version,
      description:
        'Orders in their newest state, and commands that are never sent twice. 4xx and 5xx mean that nothing was sent, and never will be, but for `FORWARD_UNANSWERED`; once a command has an id, the answer is 200 or 202 with its state, also where the platform refused it. Decimals and int64 are strings.',
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The instance that gave out this document' }],
    tags: tagTexts.map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: componentSchemas([problemAnswer, ...shapes.filter((shape) => shape !== undefined)], root),
      examples: problemExamples(routes),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: bearerText } },
    },
  };
}

export type OpenapiDocument = ReturnType<typeof openapiDocument>;

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string | undefined;
  readonly schema: JsonSchema;
}

export interface Response {
  readonly description: string;
  readonly headers?:
    | Readonly<Record<string, { readonly description: string; readonly schema: JsonSchema }>>
    | undefined;
  readonly content?: Readonly<Record<string, MediaType>> | undefined;
}

/** A body with one type, and examples by their names. */
interface MediaType {
  readonly schema: JsonSchema;
  readonly examples?: Readonly<Record<string, object>> | undefined;
}

export type Operation = ReturnType<typeof operationOf>;

function operationOf(route: Route) {
  const parameters = [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)];
  const { scopes } = route;
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: route.describe,
    tags: [route.tag],
    // One requirement for each scope: any one is enough. Roles are allowed there for `http` schemes
    // since 3.1.
    security: scopes === 'public' ? [{}] : scopes.map((scope) => ({ bearer: [scope] })),
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: route.body && {
      required: true,
      content: { 'application/json': bodyOf(route.body, route.operationId) },
    },
    responses: { ...answersOf(route), ...problemsOf(route) },
  };
}

function pathParameters({ path }: Route): Parameter[] {
  return idsIn(path).map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', pattern: idPattern(name) },
  }));
}

function queryParameters({ query }: Route): Parameter[] {
  if (query === undefined) return [];
  // Named shapes in it are the answers' shapes.
  const { properties = {}, required = [] } = JSON.parse(
    JSON.stringify(z.toJSONSchema(query, { io: 'input' })).replaceAll('#/$defs/', root),
  ) as Pick<z.core.JSONSchema.BaseSchema, 'properties' | 'required'>;
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = typeof property === 'boolean' ? {} : property;
    return { name, in: 'query', required: required.includes(name), description, schema };
  });
}

function headerParameters({ headers = [] }: Route): Parameter[] {
  return headers.map((name) => {
    const { description, schema, required = false } = requestHeaders[name];
    return { name, in: 'header', required, description, schema };
  });
}

function answersOf({ answers, operationId }: Route): Record<string, Response> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => [status, responseOf(answer, operationId, Number(status))]),
  );
}

function bodyOf(shape: z.ZodType, operationId: string, status?: number): MediaType {
  const named = examplesOf(shape, operationId, status).map(({ name, value }) => [name, { value }]);
  return { schema: refTo(shape), examples: named.length === 0 ? undefined : Object.fromEntries(named) };
}

/** A body without a shape of ours: text, or a document. */
function opaqueBody({ type = 'application/json', example }: Answer): MediaType {
  const schema = { type: type === 'application/json' ? 'object' : 'string' };
  return { schema, examples: example === undefined ? undefined : { example: { value: example } } };
}

function responseOf(answer: Answer, operationId: string, status: number): Response {
  const { describe, schema, type = 'application/json', headers = [] } = answer;
  const hasBody = schema !== undefined || type !== 'application/json' || headers.length === 0;
  const named = headers.map((name): [string, { readonly description: string; readonly schema: JsonSchema }] => [
    name,
    { description: responseHeaders[name] ?? '', schema: { type: 'string' } },
  ]);
  const body = schema === undefined ? opaqueBody(answer) : bodyOf(schema, operationId, status);
  return {
    description: describe,
    headers: named.length === 0 ? undefined : Object.fromEntries(named),
    content: hasBody ? { [type]: body } : undefined,
  };
}

const everywhere = ['INVALID_PARAMETER', 'REPEATED_HEADER', 'BAD_REQUEST', 'INTERNAL', 'DRAINING'] as const;
const signedIn = [
  'UNAUTHENTICATED',
  'INVALID_TOKEN',
  'INSUFFICIENT_SCOPE',
  'STORE_UNAVAILABLE',
  'AUTH_UNAVAILABLE',
] as const;

/** One for each code; all answers refer to it. */
function problemExamples(routes: readonly Route[]): Record<string, object> {
  const named = [...new Set(routes.flatMap(codesOf))].map(
    (code) => [exampleName(code), { summary: code, value: problemExample(code) }] as const,
  );
  return Object.fromEntries(named.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function exampleName(code: ProblemCode): string {
  return `${statusOf(code)}.${code}`;
}

function problemExample(code: ProblemCode): object {
  return problem(code, '3f7c2b8e-5a4d-4e0f-9c1b-7d6a5e4f3c21', problemText(code), exampleOf(code));
}

function problemsOf(route: Route): Record<string, Response> {
  const byStatus = Map.groupBy(codesOf(route), statusOf);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.join(', '),
        content: {
          'application/problem+json': {
            schema: refTo(problemAnswer),
            examples: Object.fromEntries(
              codes.map((code) => [code, { $ref: `#/components/examples/${exampleName(code)}` }]),
            ),
          },
        },
      },
    ]),
  );
}

function codesOf(route: Route): readonly ProblemCode[] {
  const { method, body, problems = [], scopes, path } = route;
  const codes: readonly (readonly ProblemCode[])[] = [
    everywhere,
    scopes === 'public' ? [] : signedIn,
    idsIn(path).map((id) => notFound[id]),
    body === undefined && method !== 'GET' ? ['UNEXPECTED_BODY'] : [],
    method === 'GET' ? [] : ['CROSS_SITE_REQUEST'],
    isRead(route) ? ['TOO_MANY_READS'] : [],
    problems,
  ];
  return [...new Set(codes.flat())];
}

function refTo(shape: z.ZodType): JsonSchema {
  const id = schemaId(shape);
  // A shape without a name would have to be repeated wherever it is used.
  if (id === undefined) throw new Error('a body or an answer in the table of routes has no name');
  return { $ref: `${root}${id}` };
}

type HeaderName = NonNullable<Route['headers']>[number];

const requestHeaders: Readonly<
  Record<HeaderName, { readonly description: string; readonly schema: JsonSchema; readonly required?: true }>
> = {
  'Idempotency-Key': {
    description:
      'Unique for each command of the caller; free again only seven days after that was resolved. The same key with the same request tells what became of it; with another request it is refused.',
    schema: { type: 'string', pattern: '^[!-~]{1,128}$' },
    required: true,
  },
  Prefer: {
    description: '`wait=N`: holds the answer until the result is final, at most N seconds (30)',
    schema: { type: 'string', examples: ['wait=5'] },
  },
  'If-Match': {
    description: 'ETag of the order: only if it is still at that revision, else 412',
    schema: { type: 'string', examples: ['"12"'] },
  },
  'If-None-Match': {
    description: 'ETag of the order: 304 if it is still at that revision',
    schema: { type: 'string', examples: ['"12"'] },
  },
  'Last-Event-ID': {
    description: 'The last id that was seen: the stream goes on after it',
    schema: { type: 'string', pattern: streamIdPattern.source },
  },
};

const responseHeaders: Readonly<Record<string, string>> = {
  ETag: "The order's revision in quotes",
  Location: 'Where the command is',
  'Retry-After': 'Seconds',
  'Idempotent-Replayed': '`true`: the key was known; nothing is sent twice for it',
  'Preference-Applied': '`wait=N` as it was applied',
  RateLimit: 'What the account may still send, and the seconds until all of it is back',
  'RateLimit-Policy': 'What the account may send at once',
  'Tidemark-Instance': 'The process that carried it out; this one may have forwarded it',
};
