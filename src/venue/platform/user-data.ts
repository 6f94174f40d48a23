import { z } from 'zod';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { Secret } from '../../runtime/secret.ts';
import { codeClassOf, type Http, type HttpResult } from '../http.ts';
import { parseJson, parsePlainJson } from '../parse-json.ts';
import { retryAfterMsOf } from '../platform-error.ts';
import type { ReadDeps } from '../read-venue.ts';
import { errorFromAnswer } from './error-from-answer.ts';
import { type Fetched, readShape } from './read-platform.ts';
import { changeEmailPath, health, healthPath, settingPath, settingsPath } from './wire/user.ts';

/**
 * Asks for another e-mail address for the signed-in user (specification, "POST
 * /v1/users/me/email/change"). One attempt: see `sendWrite`.
 */
export async function changeEmail(
  deps: WriteDeps,
  baseUrl: string,
  email: string,
  signal: AbortSignal,
): Promise<Fetched<undefined>> {
  const write = {
    operation: 'change_email',
    method: 'POST',
    url: `${baseUrl}${changeEmailPath}`,
    body: { email },
  } as const;
  const answer = await sendWrite(deps, write, signal);
  return answer.ok ? { ok: true, value: undefined } : answer;
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
export async function deleteUserSettings(
  deps: WriteDeps,
  baseUrl: string,
  settings: { readonly category: string; readonly keys: readonly string[] },
  signal: AbortSignal,
): Promise<Fetched<undefined>> {
  const url = `${baseUrl}${settingsPath(settings.category)}`;
  const write = { operation: 'delete_user_settings', method: 'DELETE', url, body: { keys: settings.keys } } as const;
  const answer = await sendWrite(deps, write, signal);
  return answer.ok ? { ok: true, value: undefined } : answer;
}

/** One write that isn't an order. */
interface Write {
  /** A metric label. */
  readonly operation: string;
  readonly method: 'POST' | 'DELETE';
  readonly url: string;
  readonly body: unknown;
}

type WriteDeps = Pick<ReadDeps, 'http' | 'clock' | 'tokens' | 'metrics'>;

/**
 * One request, with any result. A write may have taken effect although its answer was lost or bad,
 * so only the caller can know if it should be sent again. A 401 renews the token for the next
 * request. `value` is a 2xx's parsed body, undefined when it was empty. Never rejects.
 */
async function sendWrite(deps: WriteDeps, write: Write, signal: AbortSignal): Promise<Fetched<unknown>> {
  const { operation, method, url } = write;
  const credential = await deps.tokens.get(url);
  // What the answer for the token says of itself is not said of the write.
  if (!credential.ok) return { ok: false, error: { ...credential.error, sent: 'no' } };
  if (signal.aborted)
    return { ok: false, error: { code: 'NO_ANSWER', message: 'given up by the caller', retryable: true, sent: 'no' } };
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    authorization: new Secret(`Bearer ${credential.token.secret.reveal()}`),
  };
  const startedMs = deps.clock.monotonicMs();
  const result = await deps.http.request({
    operation,
    method,
    url,
    headers,
    body: JSON.stringify(write.body),
    signal,
  });
  deps.metrics.requestSeconds.observe(
    { operation, code_class: codeClassOf(result) },
    (deps.clock.monotonicMs() - startedMs) / 1000,
  );
  if (result.kind === 'answered' && result.status === 401) void deps.tokens.renew(credential.token.generation, url);
  return toResult(result);
}

function toResult(observed: HttpResult): Fetched<unknown> {
  if (observed.kind === 'failed')
    return { ok: false, error: { code: 'NO_ANSWER', message: observed.message, retryable: true, sent: observed.sent } };
  const value = jsonOrUndefined(observed.text, parseJson);
  if (observed.status < 200 || observed.status > 299)
    return { ok: false, error: errorFromAnswer(observed.status, value, retryAfterMsOf(observed)) };
  if (value !== undefined || observed.text === '') return { ok: true, value };
  const message = 'the answer is not JSON';
  return { ok: false, error: { status: observed.status, code: 'BAD_ANSWER', message, retryable: false, sent: 'yes' } };
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
  const result = await deps.http.request({ ...request, method: 'GET', signal });
  if (result.kind === 'failed')
    return { ok: false, error: { code: 'NO_ANSWER', message: result.message, retryable: true, sent: result.sent } };
  const body = jsonOrUndefined(result.text, parseJson);
  if (result.status !== 200) return { ok: false, error: errorFromAnswer(result.status, body, retryAfterMsOf(result)) };
  const read = health.safeParse(body);
  if (read.success) return { ok: true, value: read.data.status };
  const message = 'the health answer has another shape';
  return { ok: false, error: { status: 200, code: 'BAD_ANSWER', message, retryable: true, sent: 'yes' } };
}
