import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { platform } from 'node:os';
import { createMetrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import { exitCodes, ProgramError } from '../../runtime/program-error.ts';
import type { Random } from '../../runtime/random.ts';
import type { CredentialList, Token, TokenStore } from '../../runtime/token-store.ts';
import { abortAfter, unlessAborted } from '../../runtime/waiting.ts';
import type { Http } from '../../venue/http.ts';
import { beginAuthorization, readCallback } from '../../venue/platform/authorization.ts';
import { type Credential, exchangeToken } from '../../venue/platform/exchange-token.ts';
import { listAccounts } from '../../venue/platform/platform-reads.ts';
import { storeLogin } from '../../venue/platform/token-source.ts';
import type { PlatformError } from '../../venue/platform-error.ts';
import type { TokenSource } from '../../venue/tokens.ts';

export interface LinkDeps {
  readonly http: Http;
  readonly clock: Clock;
  readonly store: TokenStore & CredentialList;
  /** Called with the address for the user's sign-in. */
  readonly onAddress: (address: string) => void;
}

interface LinkOptions {
  readonly platformUrl: string;
  readonly authUrl: string;
  readonly credential: Credential;
  /** The name for the stored tokens. */
  readonly storedAs: string;
  /** This process, for the claim. */
  readonly holder: string;
  readonly redirectPort: number;
  readonly timeoutMs: number;
}

/**
 * One user signs in with the browser on this machine: address, redirect to loopback, state,
 * exchange, store (RFC 8252; specification, "Authentication" 5 to 7). Tidemark never sees the user
 * name, password and MFA code. The tokens are stored before the browser shows success.
 */
export async function linkLogin(deps: LinkDeps, options: LinkOptions, signal: AbortSignal): Promise<Token> {
  const { platformUrl, authUrl, credential } = options;
  await using listener = await listenForCallback(options.redirectPort);
  const { redirectUri } = listener;
  const authorization = await beginAuthorization({ platformUrl, authUrl, ...credential, redirectUri });
  deps.onAddress(authorization.url);
  using late = abortAfter(deps.clock, options.timeoutMs, 'the sign-in', signal);
  const callback = await unlessAborted(listener.first, late.signal).catch(() => undefined);
  if (callback === undefined) throw new ProgramError('no user signed in', { code: 'NO_SIGN_IN', fix: 'Run it again.' });
  try {
    const read = readCallback({ platformUrl, clientId: credential.clientId }, authorization, callback.parameters);
    if (!read.ok) throw refusal(read.error);
    const { grant } = read;
    const obtained = await storeLogin(deps, options.storedAs, options.holder, () =>
      exchangeToken(deps, platformUrl, credential, grant),
    );
    if (obtained === 'busy')
      throw new ProgramError('the login could not be stored: another process is busy with it', {
        code: 'BUSY',
        fix: 'Run it again.',
      });
    if (!obtained.ok) throw refusal(obtained.error);
    callback.answer(200, 'You are signed in, and Tidemark follows your accounts from now on.');
    return obtained.token;
  } catch (error) {
    callback.answer(400, 'The sign-in did not succeed. The terminal says why.');
    throw error;
  }
}

function refusal(error: PlatformError): ProgramError {
  return new ProgramError(`the sign-in failed: ${error.message}`, {
    code: error.code ?? 'SIGN_IN',
    exitCode: error.retryable ? exitCodes.unavailable : exitCodes.failed,
    fix:
      error.code === 'STATE_MISMATCH' ? 'Run it again, and use the address that it prints only once.' : 'Run it again.',
  });
}

interface Callback {
  readonly parameters: URLSearchParams;
  /** Shows the user the result, in the browser. */
  answer(status: 200 | 400, text: string): void;
}

const callbackPath = '/callback';

/**
 * The browser returns to this address: on loopback only, for one answer (RFC 8252, section 7.3).
 * Port 0: any free one. Rejects with a `ProgramError` when the port is taken.
 *
 * Invariant: the first request for the callback's path is handed out, later ones are turned away.
 * The page has no links, so the code in its address goes no further. Disposing it sends the last
 * page, and closes.
 */
async function listenForCallback(port: number) {
  const { promise: first, resolve } = Promise.withResolvers<Callback>();
  let taken = false;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (request.method !== 'GET' || url.pathname !== callbackPath) return send(response, 404, 'There is nothing here.');
    if (taken) return send(response, 400, 'This sign-in has ended already.');
    taken = true;
    resolve({ parameters: url.searchParams, answer: (status, text) => send(response, status, text) });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error: Error) => {
    throw portError(port, error);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    first,
    /** Must be registered with the platform in this form. */
    redirectUri: `http://127.0.0.1:${bound}${callbackPath}`,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  });
  const safe = text.replace(/[<>&]/g, ' ');
  response.end(
    `<!doctype html><meta charset="utf-8"><title>Tidemark</title><p>${safe}</p><p>You can close this window.</p>`,
  );
}

function portError(port: number, cause: Error): ProgramError {
  return new ProgramError(`port ${port} of this machine cannot be listened on`, {
    code: 'PORT',
    exitCode: exitCodes.unavailable,
    fix: 'Stop the process that uses it, or name another port with --redirect-port; the platform must have that redirect URI registered.',
    cause,
  });
}

const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/**
 * Shows the address in the user's browser. Best effort: the address is printed as well, and a
 * machine without a browser is not unusual.
 */
export function openBrowser(address: string): void {
  const [command = 'xdg-open', ...flags] = openers[platform()] ?? ['xdg-open'];
  const child = spawn(command, [...flags, address], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}

const limitMs = 10_000;

/** The accounts visible to a new token, for people; undefined: no answer in time. */
export async function listAccountsWith(
  deps: { readonly http: Http; readonly clock: Clock; readonly random: Random; readonly platformUrl: string },
  token: Token,
): Promise<string[] | undefined> {
  const held = {
    ok: true,
    token: { secret: token.accessToken, generation: 1, expiresAtMs: token.expiresAtMs },
  } as const;
  const tokens: TokenSource = {
    get: async () => held,
    renew: async () => held,
    taken: () => {},
    onRenewed: () => () => {},
  };
  using late = abortAfter(deps.clock, limitMs, 'the list of accounts');
  const list = await listAccounts(
    { ...deps, tokens, metrics: createMetrics().platform },
    deps.platformUrl,
    late.signal,
  );
  return list.complete ? list.accounts.map(({ accountId }) => accountId) : undefined;
}
