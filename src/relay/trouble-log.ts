import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';

/** One line when something begins to fail, one when it works again with the count between: a broker that is down for an hour writes two lines, not thousands. */
export class TroubleLog {
  private failures = 0;
  private sinceMs = 0;
  private lastCode: unknown;
  private readonly deps: { readonly logger: Log; readonly clock: Clock };
  private readonly doing: string;

  constructor(deps: { readonly logger: Log; readonly clock: Clock }, doing: string) {
    this.deps = deps;
    this.doing = doing;
  }

  happened(err: unknown): void {
    const code = err instanceof Error && 'code' in err ? err.code : undefined;
    if (this.failures === 0) this.sinceMs = this.deps.clock.monotonicMs();
    // Another reason is news: a broker that came back may answer that a record is too large.
    if (this.failures === 0 || code !== this.lastCode) {
      // An error with a code is expected sooner or later, and its stack leads into a library: the message says it all.
      const what = typeof code === 'string' && err instanceof Error ? { code, reason: err.message } : { err };
      this.deps.logger.warn(what, `${this.doing} failed; trying again`);
    }
    this.lastCode = code;
    this.failures += 1;
  }

  passed(): void {
    if (this.failures === 0) return;
    const forMs = Math.round(this.deps.clock.monotonicMs() - this.sinceMs);
    this.deps.logger.info({ failures: this.failures, forMs }, `${this.doing} works again`);
    this.failures = 0;
  }
}
