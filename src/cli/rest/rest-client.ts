import { z } from 'zod';
import { optionTable } from '../../config/option-table.ts';
import { problemAnswer } from '../../contract/rest-answers.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { exitCodes, ProgramError, sentenceOf, usage } from '../../runtime/program-error.ts';
import type { Secret } from '../../runtime/secret.ts';
import { fetchWithin } from '../../runtime/waiting.ts';
import { printable } from '../io/format-text.ts';
import type { CliIo } from '../io/io.ts';

/** The address without slashes at its end. Throws a `ProgramError` for any other text. */
export function checkedAddress(text: string, example: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return text.replace(/\/+$/, '');
  throw usage(`${text} is not an address`, `Write it as ${example}`);
}

export const restPort = `the port of REST (${optionTable.httpPort.fallback} unless ${optionTable.httpPort.env} says otherwise)`;
export const adminPort = `the admin port (${optionTable.adminPort.fallback} unless ${optionTable.adminPort.env} says otherwise)`;
/** Both ports answer HTTP, so the connection does not show that it is the wrong one. */
const restPortFix = `name ${restPort} with --url or ${optionTable.restUrl.env}, not ${adminPort}.`;

export interface RestRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** From `/v1/` on, with its query; parts given by people are encoded already. */
  readonly path: string;
  readonly body?: unknown;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How long the service was asked to hold the answer: the deadline is that much later. */
  readonly waitMs?: number | undefined;
}

export interface RestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Its status is not 2xx. */
export function isProblem({ status }: Pick<RestAnswer, 'status'>): boolean {
  return status < 200 || status > 299;
}

/** Longer than the service's own deadlines: the service gives up first and says why. */
const answerWithinMs = 20_000;

/**
 * `waitMs` for a request over many orders or accounts: the service holds such an answer for up to
 * three minutes.
 */
export const longestHoldMs = 180_000;

/**
 * REST of a running service, for the command line. An error body becomes a `ProgramError` with its
 * sentence, its code, and its exit code. Each call makes one request and never repeats it: only the
 * caller knows the idempotency key, and so whether a repeat is safe.
 */
export class RestClient {
  private readonly io: Pick<CliIo, 'fetch' | 'clock'>;
  private readonly url: string;
  private readonly token: Secret | undefined;

  constructor(io: Pick<CliIo, 'fetch' | 'clock'>, options: { readonly url: string; readonly token?: Secret }) {
    this.io = io;
    this.url = options.url;
    this.token = options.token;
  }

  async ask(request: RestRequest): Promise<RestAnswer> {
    const answer = await this.exchange(request);
    if (isProblem(answer)) throw problemError(answer.status, answer.body);
    return answer;
  }

  /** The answer to a GET, in its shape. */
  async read<Shape extends z.ZodType>(path: string, subject: string, shape: Shape): Promise<z.infer<Shape>> {
    return understood(subject, shape, (await this.ask({ method: 'GET', path })).body);
  }

  /**
   * As `ask`, but a problem is an answer as well. Throws `NO_ANSWER` or `NOT_TIDEMARK`: whether the
   * service took the request is then not known.
   */
  async exchange(request: RestRequest): Promise<RestAnswer> {
    const { method, path, body: sent, headers, waitMs = 0 } = request;
    const answered = await fetchWithin(this.io, `${this.url}${path}`, answerWithinMs + waitMs, {
      method,
      headers: {
        accept: 'application/json, application/problem+json',
        ...(this.token && { authorization: `Bearer ${this.token.reveal()}` }),
        ...(sent !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(sent !== undefined && { body: JSON.stringify(sent) }),
    }).catch((error: unknown) => {
      throw noAnswer(this.url, error);
    });
    const body = parsed(answered.text);
    // A proxy's error may be JSON with a code as well, and says nothing of the request.
    if (body === undefined || (isProblem(answered) && !problemAnswer.safeParse(body).success)) throw notOurs(this.url);
    return { status: answered.status, headers: answered.headers, body };
  }
}

/** An answer in its shape. Throws if the service is of another version. */
export function understood<Shape extends z.ZodType>(subject: string, shape: Shape, body: unknown): z.infer<Shape> {
  const read = shape.safeParse(body);
  if (read.success) return read.data;
  throw new ProgramError(`the service describes ${subject} in a way that this program does not understand`, {
    code: 'ANSWER',
    exitCode: exitCodes.unavailable,
    fix: `Use the program of the service's own version. ${z.prettifyError(read.error)}`,
    cause: read.error,
  });
}

/**
 * Scripts may rely on this: 4xx and 5xx mean that nothing was journaled, but for FORWARD_UNANSWERED
 * (docs/rest.md).
 */
function problemError(status: number, body: Readonly<Record<string, unknown>>): ProgramError {
  const code = printable(String(body['code']));
  const detail = printable(String(body['detail'] ?? body['title'] ?? 'refused'));
  // The sentence from REST refers to a member of its body by name; here the faults follow on the
  // next lines.
  const sentence = faultsOf(body).length === 0 ? `${detail} (${code})` : `the request has these faults (${code}):`;
  return new ProgramError(sentence, { code, exitCode: exitCodeOf(status), ...fixOf(status, body) });
}

function exitCodeOf(status: number): number {
  if (status === 401 || status === 403) return exitCodes.denied;
  if (status === 400 || status === 413 || status === 414 || status === 415 || status === 422) return exitCodes.usage;
  return status === 429 || status >= 500 ? exitCodes.unavailable : exitCodes.failed;
}

/** Fixes that a person at a shell can look up. */
export const fixOfCode: Readonly<Record<string, string>> = {
  ACCOUNT_NOT_FOUND: '`tidemark status` shows the accounts that are followed; a token may see fewer.',
  ACCOUNT_NOT_OPEN:
    '`tidemark status` shows the platform’s word for it; the platform has to open it. `tidemark cancel` works meanwhile.',
  COMMAND_NOT_FOUND: '`tidemark command ls` shows them; a token may see fewer.',
  EVERY_ACCOUNT_NEEDED: 'Name one account with --account, or use a token for every account.',
  JOB_NOT_FOUND: '`tidemark dead-letters jobs` shows them; a token may see fewer.',
  NOT_FOUND: `Check the address: ${restPortFix} And check the id, where there is one.`,
  ORDER_NOT_FOUND:
    'Give the whole id, which `tidemark orders show` prints, and its --account. Cancel needs --prediction for a prediction order; only these can be replaced.',
  ROW_NOT_FOUND: '`tidemark dead-letters ls` shows those that wait; a token may see fewer.',
  SHARD_NOT_FOUND: '`tidemark fleet` shows their numbers.',
};

function fixOf(status: number, body: Readonly<Record<string, unknown>>): { fix?: string } {
  const faults = faultsOf(body).map(faultLine);
  const hint =
    fixOfCode[String(body['code'])] ??
    (status === 401 ? 'Set TIDEMARK_TOKEN or TIDEMARK_TOKEN_FILE, or give --token.' : undefined);
  const again = body['retryable'] === true ? ['The same line may succeed later.'] : [];
  const lines = [...faults, ...(hint === undefined ? [] : [hint]), ...again];
  return lines.length === 0 ? {} : { fix: lines.join('\n') };
}

export function faultsOf({ faults }: Readonly<Record<string, unknown>>): readonly unknown[] {
  return Array.isArray(faults) ? faults : [];
}

export function faultLine(fault: unknown): string {
  if (typeof fault !== 'object' || fault === null) return printable(String(fault));
  const { path, message } = fault as { path?: unknown; message?: unknown };
  return printable([path, message].filter((part) => typeof part === 'string' && part !== '').join(' '));
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  const body = jsonOrUndefined(text);
  return typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : undefined;
}

function notOurs(url: string): ProgramError {
  return new ProgramError(`${url} is not REST of a Tidemark service`, {
    code: 'NOT_TIDEMARK',
    exitCode: exitCodes.unavailable,
    fix: `Check the address: ${restPortFix}`,
  });
}

function noAnswer(url: string, cause: unknown): ProgramError {
  return new ProgramError(`no answer from ${url}: ${sentenceOf(cause)}`, {
    code: 'NO_ANSWER',
    exitCode: exitCodes.unavailable,
    fix: 'Start the service with `tidemark serve`, or name its address with --url or TIDEMARK_URL.',
    cause,
  });
}
