import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import { aborted, Wakeup } from '../../runtime/waiting.ts';

/**
 * The life of a part that works while the lane is held: one term after the other, never two at
 * once, and a last round when it drains.
 *
 * States: no term → serving (between `begin` and `end`) → no term … → draining: the part sees it in
 * `draining`, and ends by returning from `serve`. Invariant: a term's `over` is aborted before
 * `term` is another one, so work that still belongs to it ends at its next wait.
 */
export class TermLoop<Term extends { readonly over: AbortController }> {
  private current: Term | undefined;
  private stopping = false;
  private loop: Promise<void> | undefined;
  private readonly wakeup = new Wakeup();
  private readonly serve: (term: Term) => Promise<void>;

  /**
   * `serve`: one term's work, until the term is over or the drain has nothing left to do. Never
   * rejects.
   */
  constructor(serve: (term: Term) => Promise<void>) {
    this.serve = serve;
  }

  get term(): Term | undefined {
    return this.current;
  }

  get draining(): boolean {
    return this.stopping;
  }

  start(): void {
    this.loop = this.run();
  }

  begin(term: Term): void {
    this.current = term;
    this.wakeup.wake();
  }

  end(): void {
    this.current?.over.abort();
    this.current = undefined;
    this.wakeup.wake();
  }

  wake(): void {
    this.wakeup.wake();
  }

  wait(): Promise<void> {
    return this.wakeup.wait();
  }

  /**
   * Lets the loop end by itself. When `signal` aborts, the term is over and the drain no longer
   * waits. Afterwards the term is still the current one: `end` follows. `gaveUp` resolves when
   * `signal` aborts, for work that has to be done before that.
   */
  async drain(signal: AbortSignal): Promise<{ readonly term: Term | undefined; readonly gaveUp: Promise<void> }> {
    this.stopping = true;
    const { term } = this;
    const gaveUp = aborted(signal).then(() => term?.over.abort());
    this.wakeup.wake();
    await Promise.race([this.loop, gaveUp]);
    return { term, gaveUp };
  }

  private async run(): Promise<void> {
    for (;;) {
      const { term } = this;
      if (term !== undefined) await this.serve(term);
      if (this.stopping) return;
      if (term === this.term) await this.wakeup.wait();
    }
  }
}

/** A send of so many rows to a topic, with its metrics. Rejects as `send` does. */
export async function measureSend(
  deps: { readonly clock: Clock; readonly metrics: Pick<Metrics['relay'], 'records' | 'publishSeconds'> },
  topic: string,
  rows: number,
  send: () => Promise<void>,
): Promise<void> {
  const { clock, metrics } = deps;
  const startedMs = clock.monotonicMs();
  try {
    await send();
  } catch (err) {
    metrics.records.inc({ topic, result: 'failed' }, rows);
    throw err;
  }
  metrics.publishSeconds.observe({ topic }, (clock.monotonicMs() - startedMs) / 1000);
  metrics.records.inc({ topic, result: 'acknowledged' }, rows);
}

/**
 * Logs one line when something begins to fail, and one with the count when it works again: a broker
 * down for an hour causes two lines, not thousands.
 */
export class TroubleReport {
  private failures = 0;
  private sinceMs = 0;
  private lastCode: unknown;
  private readonly deps: { readonly logger: Logger; readonly clock: Clock };
  private readonly doing: string;

  constructor(deps: TroubleReport['deps'], doing: string) {
    this.deps = deps;
    this.doing = doing;
  }

  happened(err: unknown): void {
    const code = err instanceof Error && 'code' in err ? err.code : undefined;
    if (this.failures === 0) this.sinceMs = this.deps.clock.monotonicMs();
    // Another reason is logged too: a broker that came back may answer that a record is too large.
    if (this.failures === 0 || code !== this.lastCode) {
      // An error with a code is expected sooner or later, and its stack leads into a library: the
      // message is enough.
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
