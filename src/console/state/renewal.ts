import type { Grant, IssuerSignIn } from './issuer-sign-in.ts';
import type { Ports, Timer } from './ports.ts';

const storeName = 'tidemark.renewal';
/** A token is renewed when a fifth of its time is left, at most a minute before its end. */
const longestLeadMs = 60_000;
const soonestMs = 1_000;
const againMs = 15_000;
/** Browser timers count to 2^31 ms. */
const longestWaitMs = 43_200_000;

interface RenewalEvents {
  /** Keeps and uses the token from now on. */
  readonly onToken: (token: string) => void;
  /** The time to renew has come. */
  readonly onDue: () => void;
}

/**
 * This tab's token from the issuer, and the next one. Empty for a typed token: it cannot be
 * renewed.
 */
export class Renewal {
  private grant: Grant | undefined;
  private timer: Timer | undefined;
  private running: Promise<'ok' | 'over' | 'later'> | undefined;
  private readonly ports: Ports;
  private readonly issuer: IssuerSignIn;
  private readonly events: RenewalEvents;

  constructor(ports: Ports, issuer: IssuerSignIn, events: RenewalEvents) {
    this.ports = ports;
    this.issuer = issuer;
    this.events = events;
  }

  /** Whether the issuer gave the token. */
  get ofIssuer(): boolean {
    return this.grant !== undefined;
  }

  adopt(grant: Grant): void {
    const { token, ...rest } = grant;
    this.grant = grant;
    this.ports.tabStore.write(storeName, JSON.stringify(rest));
    this.events.onToken(token);
    this.plan(grant);
  }

  /** After a reload, with the tab's token. */
  restore(token: string | undefined): void {
    const kept = this.ports.tabStore.read(storeName);
    if (token === undefined || kept === undefined || this.grant !== undefined) return;
    this.grant = { ...(JSON.parse(kept) as Omit<Grant, 'token'>), token };
    this.plan(this.grant);
  }

  /** Once at a time: an issuer that rotates refresh tokens takes each one once. */
  renew(): Promise<'ok' | 'over' | 'later'> {
    this.running ??= this.renewNow().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  /** Resolves with the refresh token, if there was one. */
  forget(): string | undefined {
    const refreshToken = this.grant?.refreshToken;
    this.grant = undefined;
    this.timer?.cancel();
    this.ports.tabStore.forget(storeName);
    return refreshToken;
  }

  private async renewNow(): Promise<'ok' | 'over' | 'later'> {
    const { grant } = this;
    if (grant?.refreshToken === undefined) return 'over';
    const renewed = await this.issuer.renew(grant.refreshToken);
    // The reader signed out meanwhile.
    if (this.grant !== grant) return 'over';
    if (renewed.kind === 'ok') this.adopt(renewed.grant);
    else if (renewed.kind === 'later') this.wait(againMs);
    return renewed.kind;
  }

  private plan({ refreshToken, endsAtMs }: Grant): void {
    if (refreshToken === undefined || endsAtMs === undefined) return;
    const leftMs = endsAtMs - this.ports.nowMs();
    this.wait(Math.max(soonestMs, leftMs - Math.min(longestLeadMs, leftMs / 5)));
  }

  private wait(ms: number): void {
    this.timer?.cancel();
    this.timer = this.ports.after(Math.min(ms, longestWaitMs), () => this.events.onDue());
  }
}
