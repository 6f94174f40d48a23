import type { Clock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { below, oneOf } from '../../../src/sandbox/market/instruments.ts';
import type { HttpResult } from '../../../src/venue/http.ts';
import { retryAfterMsOf } from '../../../src/venue/platform-error.ts';
import type { Host } from '../host.ts';

const windowMs = 60_000;
/** What a cancel-all reads first rests no longer, and looks like any other read. */
const cancelRestMs = 5_000;

/**
 * So many requests a minute with one key, from all processes and from the user's other programs.
 * Oracle: a process that was last answered "none is left" asks no more until the venue counts anew,
 * and one that was answered 429 asks no more until its rest is over.
 */
export class RequestLimit {
  readonly breaches: string[] = [];
  private random: Random | undefined;
  private perMinute = Number.POSITIVE_INFINITY;
  private readonly windows = new Map<string, { readonly endsMs: number; left: number }>();
  /** By process and key: monotonic, of the world. */
  private readonly noneUntilMs = new Map<string, number>();
  private readonly restUntilMs = new Map<string, number>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  begin(random: Random): void {
    this.random = random;
    this.perMinute = oneOf(random, [30, 60, 120]);
  }

  /** The other programs end, and the venue takes as much as is asked. */
  heal(): void {
    if (this.random !== undefined) this.perMinute = 1_000_000;
    this.windows.clear();
    this.random = undefined;
  }

  /** One read of a process, and its answer as the process gets it. */
  asked(host: Host, key: string | undefined, work: () => Promise<HttpResult>): Promise<HttpResult> {
    if (this.clock.monotonicMs() < (this.noneUntilMs.get(`${host.name} ${key}`) ?? 0))
      this.breaches.push(`${host.name} asks with ${key}, though its last answer was that no request is left`);
    if (this.clock.monotonicMs() < (this.restUntilMs.get(`${host.name} ${key}`) ?? 0))
      this.breaches.push(`${host.name} asks with ${key}, though the venue answered 429 and is left alone`);
    return this.written(host, key, work);
  }

  /** The same for a write: it has its turn before it is journaled, and answers come meanwhile. */
  written(host: Host, key: string | undefined, work: () => Promise<HttpResult>): Promise<HttpResult> {
    return key === undefined || !Number.isFinite(this.perMinute) ? work() : this.learning(host, key, work);
  }

  /** The process begins with the key anew, and knows nothing of it. */
  forget(host: Host, key: string): void {
    for (const until of [this.noneUntilMs, this.restUntilMs]) until.delete(`${host.name} ${key}`);
  }

  private async learning(host: Host, key: string, work: () => Promise<HttpResult>): Promise<HttpResult> {
    const result = await work();
    this.learn(`${host.name} ${key}`, result);
    return result;
  }

  /** A request arrives: what is answered to it, with the venue's count. */
  counted(key: string | undefined, refused: HttpResult, answer: () => HttpResult): HttpResult {
    if (key === undefined || !Number.isFinite(this.perMinute)) return answer();
    const nowMs = this.clock.monotonicMs();
    const window = this.windowOf(key, nowMs);
    const isWithin = window.left > 0;
    if (isWithin) window.left -= 1;
    const result = isWithin ? answer() : refused;
    if (result.kind === 'failed') return result;
    const date = new Date(this.clock.nowMs());
    const endsMs = date.getTime() + window.endsMs - nowMs;
    const words = {
      date: date.toUTCString(),
      'x-ratelimit-limit': String(this.perMinute),
      'x-ratelimit-remaining': String(window.left),
      'x-ratelimit-reset': String(Math.ceil(endsMs / 1000)),
    };
    return { ...result, headers: { ...result.headers, ...words } };
  }

  private windowOf(key: string, nowMs: number) {
    const known = this.windows.get(key);
    if (known !== undefined && nowMs < known.endsMs) return known;
    const ofOthers = this.random === undefined ? 0 : below(this.random, this.perMinute + 1);
    const window = { endsMs: nowMs + windowMs, left: this.perMinute - ofOthers };
    this.windows.set(key, window);
    return window;
  }

  private learn(name: string, result: HttpResult): void {
    if (result.kind === 'answered' && result.status === 429) {
      const restMs = Math.min(cancelRestMs, Math.max(1_000, retryAfterMsOf(result)));
      this.restUntilMs.set(name, Math.max(this.restUntilMs.get(name) ?? 0, this.clock.monotonicMs() + restMs));
    }
    if (result.kind === 'failed' || result.headers['x-ratelimit-reset'] === undefined) return;
    const { 'x-ratelimit-remaining': left, 'x-ratelimit-reset': reset, date = '' } = result.headers;
    const endsInMs = Math.min(windowMs, Number(reset) * 1000 - Date.parse(date));
    this.noneUntilMs.set(name, left === '0' ? this.clock.monotonicMs() + endsInMs : 0);
  }
}
