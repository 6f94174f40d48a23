import { z } from 'zod';
import type { Logger } from '../../../observability/logger.ts';
import type { Clock, Timer } from '../../../runtime/clock.ts';
import { fetchWithin } from '../../../runtime/waiting.ts';

interface IssuerMetadataDeps {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly log: Logger;
}

const readEveryMs = 600_000;
const readAgainMs = 5_000;
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

export type Metadata = z.infer<typeof shape>;

/**
 * The issuer's metadata, read at start and every ten minutes. States: none yet → read; from then on
 * there is always some, since a failed read keeps the last one. The service reads it, not the page:
 * so the page's policy can name its origins before the page exists.
 */
export class IssuerMetadata {
  private metadata: Metadata | undefined;
  private failing = false;
  private stopped = false;
  private timer: Timer | undefined;
  private readonly deps: IssuerMetadataDeps;
  private readonly issuer: string;

  constructor(deps: IssuerMetadataDeps, issuer: string) {
    this.deps = deps;
    this.issuer = issuer;
  }

  /** Undefined: it could not be read yet. */
  get known(): Metadata | undefined {
    return this.metadata;
  }

  start(): void {
    if (this.stopped) return;
    void this.read().then(() => {
      if (this.stopped) return;
      this.timer = this.deps.clock.after(this.failing ? readAgainMs : readEveryMs, () => this.start());
    });
  }

  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  private async read(): Promise<void> {
    const { log } = this.deps;
    try {
      this.metadata = await this.readFirst(addressesOf(this.issuer));
      if (this.failing) log.info('the metadata of the issuer was read again');
      this.failing = false;
    } catch (err) {
      if (!this.failing)
        log.warn(
          { err, kept: this.metadata !== undefined },
          'the console cannot offer sign-in by the issuer: its metadata could not be read',
        );
      this.failing = true;
    }
  }

  /** An issuer has its metadata at one address, or at both with the same content. */
  private async readFirst([first, ...others]: readonly string[]): Promise<Metadata> {
    if (first === undefined)
      throw new Error('the issuer has no metadata at the addresses of OpenID Connect and RFC 8414');
    const { status, text } = await fetchWithin(this.deps, first, readTimeoutMs);
    if (status === 404) return this.readFirst(others);
    if (status !== 200) throw new Error(`the metadata of the issuer: the answer was ${status}`);
    const metadata = shape.parse(JSON.parse(text));
    // To the letter, as in its tokens: otherwise the service would refuse each of its tokens.
    if (metadata.issuer !== this.issuer) throw new Error(`the issuer calls itself ${metadata.issuer}`);
    return metadata;
  }
}

function addressesOf(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}
