import type { McpServer, ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { CallerDocument } from '../../contract/status-answer.ts';
import { streams } from '../../domain/order.ts';
import { present } from '../../domain/present.ts';
import type { Clock } from '../../runtime/clock.ts';
import { ProgramError } from '../../runtime/program-error.ts';
import type { Scope } from '../../service/rest/auth/principal.ts';
import { longestCursor } from '../../service/rest/cursor.ts';
import { clip, printable } from '../io/format-text.ts';
import { faultLine, faultsOf, isProblem, type RestAnswer, type RestClient, understood } from '../rest/rest-client.ts';
import { query } from '../rest/rest-flags.ts';
import { plainInput, plainSchema } from './plain-schema.ts';
import type { PreviewBook } from './preview-book.ts';
import { type ToolAnswer, ToolError } from './tool-answer.ts';

/** Shared by all tools of one process. */
export interface Session {
  /** A client with the token as it is now: a file of tokens may have changed since the start. */
  readonly client: () => RestClient;
  readonly previews: PreviewBook;
  readonly clock: Clock;
}

interface ToolParts {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** It is offered to a token with one of them. */
  readonly scopes: readonly [Scope, ...Scope[]];
  /** Left out: it changes nothing, neither here nor on the platform. */
  readonly annotations?: ToolAnnotations;
  readonly output?: z.ZodType;
}

export interface Tool extends ToolParts {
  readonly input: z.ZodType;
  readonly run: (session: Session, input: unknown) => Promise<ToolAnswer>;
}

/** Types a tool's input by its shape: a list holds tools of every shape. */
export function tool<Shape extends z.ZodType>(
  parts: ToolParts & {
    readonly input: Shape;
    readonly run: (session: Session, input: z.infer<Shape>) => Promise<ToolAnswer>;
  },
): Tool {
  // Safe: the server gives `run` only what the shape has parsed.
  return parts as unknown as Tool;
}

export const readOnly: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** A GET over REST. A problem becomes a `ToolError` with its own code and words. */
export async function readRest<Shape extends z.ZodType>(
  client: RestClient,
  path: string,
  subject: string,
  shape: Shape,
): Promise<z.infer<Shape>> {
  const answer = await client.exchange({ method: 'GET', path });
  if (isProblem(answer)) throw problemOf(answer);
  return understood(subject, shape, answer.body);
}

/**
 * The service looks at a part of a filtered list for each page: an empty one may have a next one.
 */
const mostPages = 5;

interface Page<Row> {
  readonly items: readonly Row[];
  readonly next?: string | undefined;
}

/** The first page of a list that has rows, of so many pages at most. */
export async function readPage<Listed extends Page<unknown>>(
  client: RestClient,
  { about, path, shape }: { readonly about: string; readonly path: string; readonly shape: z.ZodType<Listed> },
  filter: Readonly<Record<string, string | undefined>>,
): Promise<Listed> {
  let { cursor } = filter;
  for (let pages = 1; ; pages += 1) {
    const page = await readRest(client, `${path}${query({ ...filter, cursor })}`, about, shape);
    if (page.items.length > 0 || page.next === undefined || pages >= mostPages) return page;
    cursor = page.next;
  }
}

/** A page under its name: for each row a line and its short form, then the next page's cursor. */
export function pageAnswer<Row>(
  name: string,
  { items, next }: Page<Row>,
  { none, line, short }: { readonly none: string; line(row: Row): string; short(row: Row): object },
): ToolAnswer {
  return {
    lines: [
      ...(items.length === 0 ? [none] : items.map(line)),
      next && `There are more: ask again with cursor ${next}`,
    ],
    data: present({ [name]: items.map(short), next }),
  };
}

/** The list was not read to its end if it has a next page. */
export function noneOf(what: string, { next }: Page<unknown>): string {
  return `No ${what} matches${next === undefined ? '' : ' so far'}.`;
}

export function problemOf({ body }: RestAnswer): ToolError {
  const faults = faultsOf(body).map(faultLine);
  const detail =
    faults.length === 0
      ? String(body['detail'] ?? body['title'] ?? 'refused')
      : `the request has faults: ${faults.join('; ')}`;
  return new ToolError(String(body['code']), detail, body['retryable'] === true);
}

/** More calls at once are refused: each holds a connection and an answer. */
const mostAtOnce = 32;

/**
 * No answer is larger. Pages are small enough for it; one order or
 * command with very long texts may not be.
 */
const mostCharacters = 100_000;

/**
 * Under this name a tool error has its code, its message and whether it is `retryable` in `_meta`.
 */
const errorKey = 'tidemark/error';

/** Registers the tools that the caller's rights allow. */
export function addTools(server: McpServer, session: Session, offered: readonly Tool[]): void {
  let underWay = 0;
  for (const { name, title, description, annotations = readOnly, input, output, run } of offered) {
    const config = {
      title,
      description,
      annotations,
      inputSchema: plainInput(input),
      ...(output !== undefined && { outputSchema: plainSchema(output) }),
    };
    server.registerTool(name, config, async (given) => {
      if (underWay >= mostAtOnce)
        return failed(new ToolError('TOO_MANY_CALLS', `${mostAtOnce} calls are under way; wait for one of them`, true));
      underWay += 1;
      try {
        return succeeded(await run(session, given));
      } catch (error) {
        return failed(error);
      } finally {
        underWay -= 1;
      }
    });
  }
}

export function isAllowed({ scopes }: Pick<ToolParts, 'scopes'>, caller: Pick<CallerDocument, 'scopes'>): boolean {
  return scopes.some((scope) => caller.scopes.includes(scope));
}

function succeeded({ lines, data }: ToolAnswer) {
  if (JSON.stringify(data).length > mostCharacters)
    throw new ToolError(
      'TOO_LARGE',
      'the answer is too large for an assistant: read it with `tidemark orders show` or `tidemark command show`',
    );
  return { content: [{ type: 'text' as const, text: textOf(lines) }], structuredContent: { ...data } };
}

function failed(error: unknown) {
  const [code, retryable] =
    error instanceof ToolError
      ? [error.code, error.retryable]
      : error instanceof ProgramError
        ? [error.code, error.code === 'NO_ANSWER']
        : ['INTERNAL', false];
  const message = error instanceof Error ? error.message : String(error);
  return {
    content: [
      {
        type: 'text' as const,
        text: textOf([`${message} (${code})`, retryable ? 'The same call may succeed later.' : undefined]),
      },
    ],
    // Not as structured content: clients with version 1 of the SDK compare even an error with the
    // tool's output schema, and fail the call.
    _meta: { [errorKey]: { code, message, retryable } },
    isError: true,
  };
}

/** Texts in orders come from outside; lines are ours alone. */
function textOf(lines: ToolAnswer['lines']): string {
  return lines
    .filter((line) => line !== undefined)
    .map((line) => clip(printable(line), 2_000))
    .join('\n');
}

/** An assistant reads every row it gets, so a page is small. */
export const pageLimit = z.int().min(1).max(50).default(20).describe('How many at most');

export const cursor = z
  .string()
  .min(1)
  .max(longestCursor)
  .optional()
  .describe('next of the page before, with the same filters');

export const streamOfOrder = z
  .enum(streams)
  .describe('As list_orders shows it. account: equities and options. prediction: prediction markets');

/** Texts from outside have no bound. */
export function excerpt(text: string): string {
  return clip(text, 300);
}
