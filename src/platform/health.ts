import type { Http } from './http.ts';
import { parseJson } from './parse-json.ts';
import { errorFromAnswer } from './platform-error.ts';
import type { Fetched } from './read-shape.ts';
import { health, healthPath } from './wire/health.ts';

/**
 * The platform's own word on its health (docs/platform-assumptions.md, "Data": `GET /v1/health`). One attempt and no token: it is asked for the state of this moment, also
 * when no one can sign in.
 */
export async function readHealth(deps: { readonly http: Http }, baseUrl: string, signal: AbortSignal): Promise<Fetched<string>> {
  const request = { operation: 'health', url: `${baseUrl}${healthPath}`, headers: { accept: 'application/json' } };
  const outcome = await deps.http.request({ ...request, method: 'GET', signal });
  if (outcome.kind === 'failed')
    return { ok: false, error: { code: 'NO_ANSWER', message: outcome.message, retryable: true, sent: outcome.sent } };
  const body = parsed(outcome.text);
  if (outcome.status !== 200) return { ok: false, error: errorFromAnswer(outcome.status, body) };
  const read = health.safeParse(body);
  if (read.success) return { ok: true, value: read.data.status };
  const message = 'the health answer has another shape';
  return { ok: false, error: { status: 200, code: 'BAD_ANSWER', message, retryable: true, sent: 'yes' } };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
