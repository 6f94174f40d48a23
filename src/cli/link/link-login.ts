import { beginAuthorization, readCallback } from '../../platform/authorization.ts';
import { type Credential, exchangeToken } from '../../platform/exchange-token.ts';
import type { Http } from '../../platform/http.ts';
import type { PlatformError } from '../../platform/platform-error.ts';
import { storeLogin } from '../../platform/store-login.ts';
import type { CredentialList, Token, TokenStore } from '../../platform/token-store.ts';
import type { Clock } from '../../runtime/clock.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import { CallbackListener } from './callback-listener.ts';

export interface LinkDeps {
  readonly http: Http;
  readonly clock: Clock;
  readonly store: TokenStore & CredentialList;
  /** Told the address where the user signs in. */
  readonly onAddress: (address: string) => void;
}

export interface LinkOptions {
  readonly platformUrl: string;
  readonly authUrl: string;
  readonly credential: Credential;
  /** The name under which the tokens are stored. */
  readonly storedAs: string;
  /** This process, for the claim. */
  readonly holder: string;
  readonly redirectPort: number;
  readonly timeoutMs: number;
}

/**
 * One user signs in with the browser of this machine: address, redirect to loopback, state, exchange, store (RFC 8252; specification, "Authentication"
 * 5 to 7). The user name, password and MFA code never come near us. The tokens are stored before the browser is told that all is well.
 */
export async function linkLogin(deps: LinkDeps, options: LinkOptions, signal: AbortSignal): Promise<Token> {
  const { platformUrl, authUrl, credential } = options;
  const listener = await CallbackListener.open({ port: options.redirectPort });
  try {
    const { redirectUri } = listener;
    const authorization = await beginAuthorization({ platformUrl, authUrl, ...credential, redirectUri });
    deps.onAddress(authorization.url);
    const callback = await listener.wait(deps.clock, options.timeoutMs, signal);
    if (callback === undefined) throw new CliError('nobody signed in', { code: 'NO_SIGN_IN', mend: 'Run it again.' });
    try {
      const read = readCallback({ platformUrl, clientId: credential.clientId }, authorization, callback.parameters);
      if (!read.ok) throw refusal(read.error);
      const exchanged = await exchangeToken(deps, platformUrl, credential, read.grant);
      if (!exchanged.ok) throw refusal(exchanged.error);
      const stored = await storeLogin(deps, options.storedAs, options.holder, exchanged.token);
      if (!stored)
        throw new CliError('the login could not be stored: another process is busy with it', {
          code: 'BUSY',
          mend: 'Run it again.',
        });
      callback.answer(200, 'You are signed in, and Tidemark follows your accounts from now on.');
      return exchanged.token;
    } catch (error) {
      callback.answer(400, 'The sign-in did not succeed. The terminal says why.');
      throw error;
    }
  } finally {
    await listener.close();
  }
}

function refusal(error: PlatformError): CliError {
  return new CliError(`the sign-in failed: ${error.message}`, {
    code: error.code ?? 'SIGN_IN',
    exitCode: error.retryable ? exitCodes.unavailable : exitCodes.failed,
    mend: error.code === 'STATE_MISMATCH' ? 'Run it again, and use the address that it prints only once.' : 'Run it again.',
  });
}
