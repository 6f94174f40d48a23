import type { CliIo } from '../cli/io/io.ts';
import { fetchWithin } from '../runtime/waiting.ts';
import { readLines } from './proof/prove-run.ts';

const answerWithinMs = 10_000;

/**
 * Sends one order to the sandbox's control port, and returns its answer. Throws with the port's own
 * words when it refuses.
 */
export async function askSandbox(
  io: Pick<CliIo, 'fetch' | 'clock'>,
  control: string,
  path: string,
  body?: object,
): Promise<Readonly<Record<string, unknown>>> {
  const { status, text } = await fetchWithin(
    io,
    `${control}${path}`,
    answerWithinMs,
    body && jsonRequest('POST', body),
  );
  if (status >= 300) throw new Error(`the sandbox answered ${status} to ${path}: ${text.slice(0, 500)}`);
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}

export function jsonRequest(method: string, body: object, headers: Readonly<Record<string, string>> = {}): RequestInit {
  return { method, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/**
 * The platform's own decisions on our references, from its ledger: `accepted`, `refused`,
 * `not_applied`, `deferred`, `lapsed`.
 */
export async function decisionsOn(
  fetchUrl: typeof fetch,
  control: string,
  references: readonly string[],
): Promise<string[]> {
  const decisions: string[] = [];
  for await (const line of readLines(fetchUrl, `${control}/ledger?kind=decision`)) {
    const { reference, decision } = JSON.parse(line) as { reference?: string; decision?: string };
    if (decision !== undefined && reference !== undefined && references.includes(reference)) decisions.push(decision);
  }
  return decisions;
}
