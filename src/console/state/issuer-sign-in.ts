import type { AuthorizationServer, Client, TokenEndpointResponse } from 'oauth4webapi';
import { type Ports, pause } from './ports.ts';
import type { Answer, Rest } from './rest.ts';
import { signInFault } from './sign-in-faults.ts';

/** The issuer as /console/sign-in.json describes it. */
interface IssuerSettings {
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
  readonly scope: string;
  readonly resource?: string;
  /** Left out: the issuer has not answered the service yet. */
  readonly metadata?: AuthorizationServer;
}

/** A token from the issuer, and how to get the next one. */
export interface Grant {
  readonly token: string;
  readonly refreshToken?: string;
  /** By `nowMs`; left out: the issuer did not say. */
  readonly endsAtMs?: number;
}

type Finished = { readonly returnTo: string } & (
  | { readonly kind: 'ok'; readonly grant: Grant }
  | { readonly kind: 'failed'; readonly why: string }
);

type Renewed =
  | { readonly kind: 'ok'; readonly grant: Grant }
  /** The issuer gives no further token without its user. */
  | { readonly kind: 'over' }
  /** It could not be asked now. */
  | { readonly kind: 'later' };

/** Kept in the tab while the reader is at the issuer. */
interface Begun {
  readonly state: string;
  readonly nonce?: string;
  readonly verifier: string;
  readonly returnTo: string;
}

/** The issuer sends the reader back to this address. */
export const signedInPath = '/console/signed-in';
const begunName = 'tidemark.sign-in';
const answerWithinMs = 20_000;
const askAgainMs = 1_000;
/** Clocks of browsers are not exact, and only the times in ID tokens are compared with them. */
const toleratedSeconds = 300;

const loadLibrary = () => import('oauth4webapi');

/**
 * Sign-in at an issuer by the authorization code flow with PKCE (RFC 6749, 7636, 9700), in the
 * browser, without a secret. Each sign-in has its own state, nonce and verifier, used once. The
 * library is fetched when first needed.
 */
export class IssuerSignIn {
  private readonly ports: Ports;
  private readonly rest: Rest;

  constructor(ports: Ports, rest: Rest) {
    this.ports = ports;
    this.rest = rest;
  }

  /**
   * As the service says it, once it answers: until then a page could not know about an issuer.
   * Undefined also when `signal` aborts.
   */
  async knownSettings(signal: AbortSignal): Promise<IssuerSettings | undefined> {
    while (!signal.aborted) {
      const answer = await this.askSettings();
      if (answer.kind !== 'away') return answer.kind === 'ok' ? answer.body.issuer : undefined;
      await pause(this.ports, askAgainMs, signal);
    }
    return undefined;
  }

  /** Undefined: there is no sign-in by an issuer, or the service does not answer. */
  private async settings(): Promise<IssuerSettings | undefined> {
    const answer = await this.askSettings();
    return answer.kind === 'ok' ? answer.body.issuer : undefined;
  }

  private askSettings(): Promise<Answer<{ readonly issuer?: IssuerSettings }>> {
    return this.rest.probe('/console/sign-in.json');
  }

  /**
   * Leaves the page for the issuer. `quiet`: the issuer shows nothing, and signs in only a reader
   * it still knows. Resolves with the reason if it cannot.
   */
  async begin(returnTo: string, { quiet = false } = {}): Promise<string | undefined> {
    const settings = await this.settings();
    if (settings?.metadata?.authorization_endpoint === undefined)
      return 'The issuer does not answer the service now. Try again soon.';
    if (!this.ports.page.secure) return 'Sign-in by the issuer needs https: this page was opened without it.';
    try {
      const library = await loadLibrary();
      const begun: Begun = {
        state: library.generateRandomState(),
        ...(settings.scope.split(' ').includes('openid') && { nonce: library.generateRandomNonce() }),
        verifier: library.generateRandomCodeVerifier(),
        returnTo,
      };
      const url = new URL(settings.metadata.authorization_endpoint);
      const challenge = await library.calculatePKCECodeChallenge(begun.verifier);
      for (const [name, value] of Object.entries(this.question(settings, begun, challenge)))
        url.searchParams.set(name, value);
      if (quiet) url.searchParams.set('prompt', 'none');
      this.ports.tabStore.write(begunName, JSON.stringify(begun));
      this.ports.page.leaveFor(url.href);
      return undefined;
    } catch {
      return 'The page could not begin the sign-in. Reload it, and try again.';
    }
  }

  /** With the query from the issuer's redirect. */
  async finish(query: URLSearchParams): Promise<Finished> {
    const begun = this.takeBegun();
    const returnTo = begun?.returnTo.startsWith('/console') ? begun.returnTo : '/console';
    const failed = (why: string): Finished => ({ kind: 'failed', why, returnTo });
    if (begun === undefined)
      return failed('This sign-in was not begun in this tab, or is over already. Sign in again.');
    const parties = await this.parties();
    if (parties === undefined) return failed('The issuer does not answer the service now. Try again soon.');
    const { library, settings, server, client, none, options } = parties;
    try {
      const checked = library.validateAuthResponse(server, client, query, begun.state);
      const expected = begun.nonce === undefined ? {} : { expectedNonce: begun.nonce };
      const tokens = await this.within(async (signal) => {
        const { redirectUri: back } = this;
        const more = { ...options, signal };
        const ask = library.authorizationCodeGrantRequest(server, client, none, checked, back, begun.verifier, more);
        return library.processAuthorizationCodeResponse(server, client, await ask, expected);
      });
      return { kind: 'ok', grant: this.grantOf(tokens), returnTo };
    } catch (error) {
      return failed(signInFault(library, error, new URL(settings.issuer).host));
    }
  }

  /** The next token. If the issuer rotates refresh tokens, this uses up the old one. */
  async renew(refreshToken: string): Promise<Renewed> {
    const parties = await this.parties();
    if (parties === undefined) return { kind: 'later' };
    const { library, server, client, none, options } = parties;
    try {
      const tokens = await this.within(async (signal) => {
        const ask = library.refreshTokenGrantRequest(server, client, none, refreshToken, { ...options, signal });
        return library.processRefreshTokenResponse(server, client, await ask);
      });
      return { kind: 'ok', grant: { refreshToken, ...this.grantOf(tokens) } };
    } catch (error) {
      // The issuer's own refusal is final; a fault in the network or at the issuer is not.
      return error instanceof library.ResponseBodyError && error.status < 500 ? { kind: 'over' } : { kind: 'later' };
    }
  }

  /**
   * Ends the refresh token at the issuer (RFC 7009), if it can do that. Nothing waits for this, and
   * it may fail: the tab has forgotten the token.
   */
  async revoke(refreshToken: string): Promise<void> {
    try {
      const parties = await this.parties();
      if (parties?.server.revocation_endpoint === undefined) return;
      const { library, server, client, none, options } = parties;
      await this.within((signal) =>
        library.revocationRequest(server, client, none, refreshToken, { ...options, additionalParameters: {}, signal }),
      );
    } catch {
      // It ends by itself, as every token does.
    }
  }

  private get redirectUri(): string {
    return `${this.ports.page.origin}${signedInPath}`;
  }

  private question(settings: IssuerSettings, { state, nonce }: Begun, challenge: string): Record<string, string> {
    return {
      response_type: 'code',
      client_id: settings.clientId,
      redirect_uri: this.redirectUri,
      scope: settings.scope,
      // Some issuers make a token for the audience only when asked; the others leave out an unknown
      // parameter.
      audience: settings.audience,
      ...(settings.resource !== undefined && { resource: settings.resource }),
      state,
      ...(nonce !== undefined && { nonce }),
      code_challenge: challenge,
      code_challenge_method: 'S256',
    };
  }

  /** The library, and what its requests take. Undefined: the issuer does not answer the service. */
  private async parties() {
    const settings = await this.settings();
    if (settings?.metadata === undefined) return undefined;
    const { metadata, issuer, clientId, resource } = settings;
    const library = await loadLibrary();
    const server: AuthorizationServer = { ...metadata, issuer };
    const client: Client = { client_id: clientId, [library.clockTolerance]: toleratedSeconds };
    const options = {
      [library.customFetch]: this.ports.askIssuer,
      [library.allowInsecureRequests]: issuer.startsWith('http:'),
      ...(resource !== undefined && { additionalParameters: { resource } }),
    };
    return { library, settings, server, client, none: library.None(), options };
  }

  private grantOf({
    access_token: token,
    refresh_token: refreshToken,
    expires_in: seconds,
  }: TokenEndpointResponse): Grant {
    return {
      token,
      ...(refreshToken !== undefined && { refreshToken }),
      ...(seconds !== undefined && { endsAtMs: this.ports.nowMs() + seconds * 1000 }),
    };
  }

  /** What was begun, for one use only. */
  private takeBegun(): Begun | undefined {
    const text = this.ports.tabStore.read(begunName);
    this.ports.tabStore.forget(begunName);
    return text === undefined ? undefined : (JSON.parse(text) as Begun);
  }

  private async within<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController();
    const timer = this.ports.after(answerWithinMs, () => abort.abort());
    try {
      return await ask(abort.signal);
    } finally {
      timer.cancel();
    }
  }
}
