import { z } from 'zod';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { codeClassOf, type Http, type HttpRequest, type HttpResult } from '../http.ts';
import { parseJson, parsePlainJson } from '../parse-json.ts';
import { badAnswer, noAnswer, retryAfterMsOf } from '../platform-error.ts';
import type { ReadDeps } from '../read-venue.ts';
import { bearer, errorFromAnswer, type Fetched, readShape } from './read-platform.ts';
import { changeEmailPath, health, healthPath, settingPath, settingsPath } from './wire/user.ts';

/**
 * Asks for another e-mail address for the signed-in user (specification, "POST
 * /v1/users/me/email/change"). One attempt: see `sendWrite`.
 */
export function changeEmail(
  deps: WriteDeps,
  baseUrl: string,
  email: string,
  signal: AbortSignal,
): Promise<Fetched<undefined>> {
  const url = `${baseUrl}${changeEmailPath}`;
  return sendWrite(deps, { operation: 'change_email', method: 'POST', url, body: { email } }, signal);
}

/**
 * One setting's value, any JSON, with `version` in it an ordinary key (specification, "GET
 * /v1/config/{category}/user-settings/{key}"). A number a double would change comes as its digits
 * in a string. 404: there is none.
 */
export function readUserSetting(
  deps: ReadDeps,
  baseUrl: string,
  setting: { readonly category: string; readonly key: string },
  signal: AbortSignal,
): Promise<Fetched<unknown>> {
  const url = `${baseUrl}${settingPath(setting.category, setting.key)}`;
  return readShape(deps, { operation: 'user_setting', url, shape: z.unknown(), parse: parsePlainJson }, signal);
}

/**
 * Deletes settings in one category (specification, "DELETE /v1/config/{category}/user-settings").
 * One attempt: see `sendWrite`.
 */
export function deleteUserSettings(
  deps: WriteDeps,
  baseUrl: string,
  { category, keys }: { readonly category: string; readonly keys: readonly string[] },
  signal: AbortSignal,
): Promise<Fetched<undefined>> {
  const url = `${baseUrl}${settingsPath(category)}`;
  return sendWrite(deps, { operation: 'delete_user_settings', method: 'DELETE', url, body: { keys } }, signal);
}

/** One write that isn't an order. */
interface Write extends Pick<HttpRequest, 'operation' | 'method' | 'url'> {
  readonly body: unknown;
}

type WriteDeps = Pick<ReadDeps, 'http' | 'clock' | 'tokens' | 'metrics'>;

/**
 * One request, with any result. A write may have taken effect although its answer was lost or bad,
 * so only the caller can know if it should be sent again. A 401 renews the token for the next
 * request. A 2xx is a success if its body is JSON or empty. Never rejects.
 */
async function sendWrite(deps: WriteDeps, { body, ...write }: Write, signal: AbortSignal): Promise<Fetched<undefined>> {
  const { operation, url } = write;
  const credential = await deps.tokens.get(url);
  // What the answer for the token says of itself is not said of the write.
  if (!credential.ok) return { ok: false, error: { ...credential.error, sent: 'no' } };
  if (signal.aborted) return { ok: false, error: noAnswer({ message: 'given up by the caller', sent: 'no' }) };
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    ...bearer(credential.token.secret),
  };
  const startedMs = deps.clock.monotonicMs();
  const result = await deps.http.request({ ...write, headers, body: JSON.stringify(body), signal });
  deps.metrics.requestSeconds.observe(
    { operation, code_class: codeClassOf(result) },
    (deps.clock.monotonicMs() - startedMs) / 1000,
  );
  if (result.kind === 'answered' && result.status === 401) void deps.tokens.renew(credential.token.generation, url);
  const read = successOf(result);
  if (!read.ok || read.value !== undefined || read.text === '') return read.ok ? { ok: true, value: undefined } : read;
  return { ok: false, error: { ...badAnswer('the answer is not JSON', read.status), retryable: false } };
}

/** A 2xx's parsed body, undefined if it is not JSON. */
function successOf(result: HttpResult) {
  if (result.kind === 'failed') return { ok: false, error: noAnswer(result) } as const;
  const { status, text } = result;
  const value = jsonOrUndefined(text, parseJson);
  if (status >= 200 && status < 300) return { ok: true, status, text, value } as const;
  return { ok: false, error: errorFromAnswer(status, value, retryAfterMsOf(result)) } as const;
}

/**
 * The platform's own word on its health (docs/platform-assumptions.md, "Data": `GET /v1/health`).
 * One attempt and no token: it is asked for its state at this moment, even when sign-in fails for
 * everybody.
 */
export async function readHealth(
  deps: { readonly http: Http },
  baseUrl: string,
  signal: AbortSignal,
): Promise<Fetched<string>> {
  const request = { operation: 'health', url: `${baseUrl}${healthPath}`, headers: { accept: 'application/json' } };
  const answer = successOf(await deps.http.request({ ...request, method: 'GET', signal }));
  if (!answer.ok) return answer;
  const read = health.safeParse(answer.value);
  if (read.success) return { ok: true, value: read.data.status };
  return { ok: false, error: badAnswer('the health answer has another shape', answer.status) };
}
