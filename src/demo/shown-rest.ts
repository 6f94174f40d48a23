import { printable } from '../cli/io/format-text.ts';
import type { CliIo } from '../cli/io/io.ts';
import { fetchWithin } from '../runtime/waiting.ts';
import { jsonRequest } from './ask-sandbox.ts';

interface ToldRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** From `/v1/` on. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

export interface ShownAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** `Prefer: wait` may hold an answer for 30 s. */
const answerWithinMs = 40_000;

/**
 * Makes requests, and shows each as the same request in a curl line. A user who copies it gets the
 * command's present state, since the key is in it.
 */
export class ShownRest {
  private readonly io: Pick<CliIo, 'fetch' | 'clock'>;
  private readonly say: (line: string) => void;
  private readonly address: string;

  constructor(
    io: Pick<CliIo, 'fetch' | 'clock'>,
    options: { readonly address: string; readonly say: (line: string) => void },
  ) {
    this.io = io;
    this.say = options.say;
    this.address = options.address;
  }

  /** Makes the request, and prints it with its answer. */
  async send(request: ToldRequest): Promise<ShownAnswer> {
    this.say(`  $ ${this.curl(request)}`);
    const answer = await this.ask(request);
    this.say(`  ${answer.status}  ${printable(brief(answer.body))}`);
    return answer;
  }

  /** The same without printing. */
  async ask({ method, path, headers = {}, body }: ToldRequest): Promise<ShownAnswer> {
    const init = body === undefined ? { method, headers } : jsonRequest(method, body, headers);
    const { status, text } = await fetchWithin(this.io, `${this.address}${path}`, answerWithinMs, init);
    return { status, body: JSON.parse(text) as ShownAnswer['body'] };
  }

  private curl({ method, path, headers = {}, body }: ToldRequest): string {
    const words = [
      'curl -sS',
      ...(method === 'GET' ? [] : [`-X ${method}`]),
      `'${this.address}${path}'`,
      ...Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}'`),
      ...(body === undefined
        ? []
        : ["-H 'content-type: application/json'", `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
    ];
    return words.join(' ');
  }
}

/** The answer's fields that a reader looks for; the curl line shows all. */
function brief(body: Readonly<Record<string, unknown>>): string {
  const { commandId, result, orderId, reason, code, detail } = body;
  return JSON.stringify({ commandId, result, orderId, reason, code, detail });
}
