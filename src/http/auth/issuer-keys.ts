import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Log } from '../../observability/log.ts';
import type { RestMetrics } from '../../observability/rest-metrics.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { fetchWithin } from '../../runtime/fetch-within.ts';

export interface IssuerKeysDeps {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<RestMetrics, 'issuerKeyReads'>;
}

/** A key that the issuer has taken back is noticed within a minute, and a standby has keys before it needs them. */
const readEveryMs = 60_000;
const readAgainMs = 5_000;
/** Unknown key ids make us read at most so often, however many are tried. */
const askedRestMs = 30_000;
const readTimeoutMs = 5_000;

/**
 * The public keys of the issuer (RFC 7517), read by time and when a token names one that is not among them.
 *
 * States: none yet → read, and from then on always some. A read that fails keeps the keys of the last good one for as long as the process lives: without an issuer
 * no new token is signed, while a caller that has one must still be able to cancel and halt. The way not taken, an end after some hours, would lock all of them out in
 * the middle of the outage, for keys that the issuer could not have taken back either. An answer without any key counts as failed.
 */
export class IssuerKeys {
  private keys: JWTVerifyGetKey | undefined;
  private reading: Promise<void> | undefined;
  private lastReadMs = Number.NEGATIVE_INFINITY;
  private failing = false;
  private stopped = false;
  private timer: Timer | undefined;
  private readonly deps: IssuerKeysDeps;
  private readonly url: string;

  constructor(deps: IssuerKeysDeps, url: string) {
    this.deps = deps;
    this.url = url;
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

  /** Those of the last good read; undefined: there was none, also not just now. */
  async known(): Promise<JWTVerifyGetKey | undefined> {
    if (this.keys === undefined) await this.readUnlessJustRead();
    return this.keys;
  }

  /** A token names a key that is not among the known ones: those after another read. `unknown`: the issuer can't be asked; the key may be one of its newest. */
  async newest(): Promise<JWTVerifyGetKey | 'unknown'> {
    await this.readUnlessJustRead();
    return this.failing || this.keys === undefined ? 'unknown' : this.keys;
  }

  private async readUnlessJustRead(): Promise<void> {
    if (this.reading !== undefined || this.deps.clock.monotonicMs() - this.lastReadMs >= askedRestMs) await this.read();
  }

  /** One at a time. Never rejects. */
  private read(): Promise<void> {
    this.reading ??= this.readNow().finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  private async readNow(): Promise<void> {
    const { clock, log, metrics } = this.deps;
    this.lastReadMs = clock.monotonicMs();
    try {
      this.keys = createLocalJWKSet(keySetOf(await fetchWithin(this.deps, this.url, readTimeoutMs)));
      if (this.failing) log.info('the keys of the issuer of JWTs were read again');
      this.failing = false;
    } catch (err) {
      if (!this.failing)
        log.warn(
          { err, kept: this.keys !== undefined },
          'the keys of the issuer of JWTs could not be read; those known stay good',
        );
      this.failing = true;
    }
    metrics.issuerKeyReads.inc({ outcome: this.failing ? 'failed' : 'ok' });
  }
}

function keySetOf({ status, text }: { readonly status: number; readonly text: string }): JSONWebKeySet {
  if (status !== 200) throw new Error(`the answer was ${status}`);
  const set = JSON.parse(text) as JSONWebKeySet;
  if (!Array.isArray(set?.keys) || set.keys.length === 0) throw new Error('the answer holds no keys');
  return set;
}
