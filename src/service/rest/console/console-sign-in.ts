import type { Logger } from '../../../observability/logger.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { KeptRead } from '../auth/kept-read.ts';
import { issuerMetadata, type Metadata } from './issuer-metadata.ts';

/** How the console's readers sign in at the issuer of REST's JWTs. Nothing in it is secret. */
export interface ConsoleSignInOptions {
  readonly issuer: string;
  readonly audience: string;
  /** The console, as the issuer knows it: a client without a secret. */
  readonly clientId: string;
  /** Separated by blanks. */
  readonly scope: string;
  /** The `resource` of RFC 8707; left out: none is sent. */
  readonly resource?: string;
}

/** The answer of /console/sign-in.json. */
interface SignInDocument {
  /** Left out: tokens only. Without `metadata`: the issuer has not answered the service yet. */
  readonly issuer?: ConsoleSignInOptions & { readonly metadata?: Metadata };
}

/**
 * Sign-in by the issuer, as far as the service has a part in it: it tells the page how, and its
 * policy allows it. The tokens pass it by.
 */
export class ConsoleSignIn {
  private readonly options: ConsoleSignInOptions | undefined;
  private readonly metadata: KeptRead<Metadata> | undefined;

  /** Without `options` there is no such sign-in. */
  constructor(
    deps: { readonly fetch: typeof fetch; readonly clock: Clock; readonly log: Logger },
    options: ConsoleSignInOptions | undefined,
  ) {
    this.options = options;
    this.metadata = options && issuerMetadata(deps, options.issuer);
  }

  start(): void {
    this.metadata?.start();
  }

  stop(): void {
    this.metadata?.stop();
  }

  document(): SignInDocument {
    if (this.options === undefined) return {};
    const metadata = this.metadata?.known;
    return { issuer: { ...this.options, ...(metadata !== undefined && { metadata }) } };
  }

  /** Origins that the page has to ask: for tokens, and to end them. */
  origins(): readonly string[] {
    if (this.options === undefined) return [];
    const { token_endpoint: token, revocation_endpoint: revocation } = this.metadata?.known ?? {};
    const addresses = [this.options.issuer, token, revocation].filter((address) => address !== undefined);
    return [...new Set(addresses.map((address) => new URL(address).origin))];
  }
}
