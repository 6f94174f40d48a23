import { z } from 'zod';
import type { Ambient } from '../../../observability/ambient.ts';
import { fetchWithin } from '../../../runtime/waiting.ts';
import { KeptRead } from '../auth/kept-read.ts';

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
  readonly issuer?: ConsoleSignInOptions & { readonly metadata?: Metadata | undefined };
}

/**
 * Sign-in by the issuer, as far as the service has a part in it: it tells the page how, and its
 * policy allows it. The tokens pass it by.
 */
export class ConsoleSignIn {
  private readonly options: ConsoleSignInOptions | undefined;
  private readonly metadata: KeptRead<Metadata> | undefined;

  /** Without `options` there is no such sign-in. */
  constructor(deps: IssuerMetadataDeps, options: ConsoleSignInOptions | undefined) {
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
    return { issuer: { ...this.options, metadata: this.metadata?.known } };
  }

  /** Origins that the page has to ask: for tokens, and to end them. */
  origins(): readonly string[] {
    if (this.options === undefined) return [];
    const { token_endpoint: token, revocation_endpoint: revocation } = this.metadata?.known ?? {};
    const addresses = [this.options.issuer, token, revocation].filter((address) => address !== undefined);
    return [...new Set(addresses.map((address) => new URL(address).origin))];
  }
}

export interface IssuerMetadataDeps extends Pick<Ambient, 'clock' | 'log'> {
  /** Asks the issuer. */
  readonly fetch: typeof fetch;
}

const readEveryMs = 600_000;
const readTimeoutMs = 5_000;

const address = z.url({ protocol: /^https?$/ }).max(2000);

/** The part that a sign-in in the browser needs (RFC 8414; OpenID Connect Discovery). */
const shape = z.object({
  issuer: z.string().max(2000),
  authorization_endpoint: address,
  token_endpoint: address,
  revocation_endpoint: address.optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
  id_token_signing_alg_values_supported: z.array(z.string().max(50)).max(50).optional(),
});

type Metadata = z.infer<typeof shape>;

/**
 * The issuer's metadata, read at start and every ten minutes. The service reads it, not the page:
 * so the page's policy can name its origins before the page exists.
 */
function issuerMetadata(deps: IssuerMetadataDeps, issuer: string): KeptRead<Metadata> {
  return new KeptRead(
    { ...deps, read: () => readFirst(deps, issuer, addressesOf(issuer)) },
    {
      everyMs: readEveryMs,
      failed: 'the console cannot offer sign-in by the issuer: its metadata could not be read',
      again: 'the metadata of the issuer was read again',
    },
  );
}

/** An issuer has its metadata at one address, or at both with the same content. */
async function readFirst(
  deps: IssuerMetadataDeps,
  issuer: string,
  [first, ...others]: readonly string[],
): Promise<Metadata> {
  if (first === undefined)
    throw new Error('the issuer has no metadata at the addresses of OpenID Connect and RFC 8414');
  const { status, text } = await fetchWithin(deps, first, readTimeoutMs);
  if (status === 404) return readFirst(deps, issuer, others);
  if (status !== 200) throw new Error(`the metadata of the issuer: the answer was ${status}`);
  const metadata = shape.parse(JSON.parse(text));
  // To the letter, as in its tokens: otherwise the service would refuse each of its tokens.
  if (metadata.issuer !== issuer) throw new Error(`the issuer calls itself ${metadata.issuer}`);
  return metadata;
}

function addressesOf(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}
