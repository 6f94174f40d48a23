import { systemClock } from '../../../src/runtime/clock.ts';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import type { SandboxInput } from '../../../src/sandbox/sandbox-options.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { type RunningSandbox, startSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { atEnd } from '../commands/at-end.ts';
import { silentLog } from '../runs/silent-log.ts';

/**
 * A sandbox on real sockets whose market stands still unless the test wants otherwise. Stopped with
 * the test, or with its file.
 */
export async function runningSandbox(input: SandboxInput = {}): Promise<RunningSandbox> {
  const sandbox = await startSandbox(
    { ...input, market: { rate: 0, openOrders: 20, knownOrders: 40, ...input.market } },
    // Not the market's own seed: an order that somebody places
    // would get the id of one that the market made.
    { clock: systemClock, random: seededRandom(1_000_003), log: silentLog },
  );
  atEnd(() => sandbox.stop());
  return sandbox;
}

/** The answer of an HTTP endpoint, its body as text and (where it is JSON) as a value. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came, as a stranger's client would
  readonly json: any;
  readonly headers: Headers;
}

export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('application/json') === true && text !== '';
  return { status: response.status, text, json: isJson ? JSON.parse(text) : undefined, headers: response.headers };
}

export function askToken(sandbox: SandboxDescription, fields: Record<string, string> = {}): Promise<Answer> {
  const body = {
    grant_type: 'client_credentials',
    client_id: sandbox.clientId,
    client_secret: sandbox.clientSecret,
    ...fields,
  };
  return ask(`${sandbox.platform}/v1/oauth2/token`, { method: 'POST', body: new URLSearchParams(body) });
}

/** Headers with a fresh token; `scope` narrows it. */
export async function signedIn(sandbox: SandboxDescription, scope?: string): Promise<{ authorization: string }> {
  const answer = await askToken(sandbox, scope === undefined ? {} : { scope });
  return { authorization: `Bearer ${answer.json.access_token}` };
}

/** A verb of the control port. */
export function control(sandbox: Pick<SandboxDescription, 'control'>, path: string, body?: object): Promise<Answer> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) };
  return ask(`${sandbox.control}${path}`, init);
}

/** NDJSON of the control port, a line each. */
// biome-ignore lint/suspicious/noExplicitAny: lines of many kinds
export async function controlLines(sandbox: Pick<SandboxDescription, 'control'>, path: string): Promise<any[]> {
  const { text } = await ask(`${sandbox.control}${path}`);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
