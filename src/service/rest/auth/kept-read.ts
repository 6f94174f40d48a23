import type { Ambient } from '../../../observability/ambient.ts';
import type { Timer } from '../../../runtime/clock.ts';
import { SingleFlight } from '../../../runtime/waiting.ts';

interface KeptReadDeps<T> extends Pick<Ambient, 'clock' | 'log'> {
  readonly read: () => Promise<T>;
  /** After each read. */
  readonly onRead?: (result: 'ok' | 'failed') => void;
}

interface KeptReadOptions {
  readonly everyMs: number;
  /** For the log, when reads begin to fail, and when one succeeds after that. */
  readonly failed: string;
  readonly again: string;
}

const readAgainMs = 5_000;

/**
 * A document of the issuer, read at intervals.
 *
 * States: none yet → read; from then on there is always one. A failed read keeps the last good one
 * for as long as the process lives, and is tried again after 5 s.
 */
export class KeptRead<T> {
  /** Undefined: it could not be read yet. */
  known: T | undefined;
  /** The last read failed. */
  failing = false;
  private readonly flight = new SingleFlight<void>();
  private lastReadMs = Number.NEGATIVE_INFINITY;
  private stopped = false;
  private timer: Timer | undefined;
  private readonly deps: KeptReadDeps<T>;
  private readonly options: KeptReadOptions;

  constructor(deps: KeptReadDeps<T>, options: KeptReadOptions) {
    this.deps = deps;
    this.options = options;
  }

  start(): void {
    if (this.stopped) return;
    void this.readAgain(0).then(() => {
      if (this.stopped) return;
      this.timer = this.deps.clock.after(this.failing ? readAgainMs : this.options.everyMs, () => this.start());
    });
  }

  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  /**
   * Waits for the read under way; else reads, unless the last read began within `restMs`. Never
   * rejects.
   */
  async readAgain(restMs: number): Promise<void> {
    if (this.flight.running || this.deps.clock.monotonicMs() - this.lastReadMs >= restMs)
      await this.flight.run(() => this.readNow());
  }

  private async readNow(): Promise<void> {
    const { clock, log, read, onRead } = this.deps;
    this.lastReadMs = clock.monotonicMs();
    try {
      this.known = await read();
      if (this.failing) log.info(this.options.again);
      this.failing = false;
    } catch (err) {
      if (!this.failing) log.warn({ err, kept: this.known !== undefined }, this.options.failed);
      this.failing = true;
    }
    onRead?.(this.failing ? 'failed' : 'ok');
  }
}
