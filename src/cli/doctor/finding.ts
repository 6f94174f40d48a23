import type { Pool } from 'pg';
import type { Ambient } from '../../observability/ambient.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { Secret } from '../../runtime/secret.ts';
import type { SocketFactory } from '../../service/sources/socket.ts';
import { createPool } from '../../store/session/pool.ts';
import type { Http, HttpRequest, HttpResult } from '../../venue/http.ts';
import { accountsMaxBytes, accountsPath, type UserAccounts, userAccounts } from '../../venue/platform/wire/user.ts';

/** For checks over HTTP. */
export interface HttpCheckDeps extends Ambient {
  readonly http: Http;
}

/** Given to each check. */
export interface CheckDeps extends HttpCheckDeps {
  readonly fetch: typeof fetch;
  readonly openSocket: SocketFactory;
}

/** Its user ends it. A standby will do. */
export function doctorPool(deps: Pick<Ambient, 'log'>, url: Secret, maxConnections = 1): Pool {
  return createPool(deps, { url: url.reveal(), applicationName: 'tidemark-doctor', maxConnections, server: 'any' });
}

/** The result of one check. */
export interface Finding {
  /** The part, in a word or two: `database`, `topics`, `sign-in`. */
  readonly part: string;
  readonly verdict: 'ok' | 'warn' | 'fail';
  /** One sentence, without secrets. */
  readonly detail: string;
  /** The way to fix it; absent when it is ok. */
  readonly fix?: string;
}

export const ok = (part: string, detail: string): Finding => ({ part, verdict: 'ok', detail });
export const warn = (part: string, detail: string, fix: string): Finding => ({ part, verdict: 'warn', detail, fix });
export const fail = (part: string, detail: string, fix: string): Finding => ({ part, verdict: 'fail', detail, fix });

/** With a token for the later checks, if the sign-in succeeds. */
export interface SignInFindings {
  readonly findings: readonly Finding[];
  readonly accessToken?: Secret;
}

/** The platform with a token for it. */
export interface SignedIn {
  readonly http: Http;
  readonly platformUrl: string;
  readonly accessToken: Secret;
}

/**
 * A scope helps if the platform refuses, the address if nothing is there. Neither helps against a
 * fault of the platform.
 */
export function fixOfStatus(status: number, scope: string, setting: string): string {
  if (status === 401 || status === 403) return `Give the client the scope ${scope} in the client center.`;
  if (status === 429 || status >= 500)
    return `Run it again in a minute: the platform has a fault, or asks for fewer requests. If it stays, check ${setting}.`;
  return `Check ${setting}: it is the base of the platform, without a path of its own.`;
}

/** One read with the token; never rejects. */
export function getSignedIn(
  { http, accessToken }: SignedIn,
  operation: string,
  url: string,
  more: Pick<HttpRequest, 'maxBytes'> = {},
): Promise<HttpResult> {
  return http.request({
    operation,
    method: 'GET',
    url,
    headers: { authorization: new Secret(`Bearer ${accessToken.reveal()}`) },
    ...more,
  });
}

export function reachFix(setting: string): string {
  return `Check ${setting}, and that this machine may reach it.`;
}

/** A token's accounts, as the platform lists them. */
export function askForAccounts(at: SignedIn): Promise<HttpResult> {
  return getSignedIn(at, 'list_accounts', `${at.platformUrl}${accountsPath}`, { maxBytes: accountsMaxBytes });
}

/**
 * The accounts in such a list, or why there are none. `list`: how the list begins a sentence.
 * `then`: what follows the fix of a status.
 */
export function accountsIn(
  result: Extract<HttpResult, { kind: 'answered' }>,
  part: string,
  list: string,
  then = '',
): UserAccounts | Finding {
  if (result.status !== 200) {
    const fix = fixOfStatus(result.status, 'account:information', 'PLATFORM_URL');
    return fail(part, `${list} is answered with ${result.status}`, `${fix}${then}`);
  }
  const listed = userAccounts.safeParse(jsonOrUndefined(result.text));
  if (listed.success) return listed.data;
  const fix = 'Check that PLATFORM_URL is the base of the platform, without a path of its own.';
  return fail(part, `${list} is answered with 200, and has another shape than specified`, fix);
}
