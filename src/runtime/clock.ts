/**
 * Time, passed in. Only `runtime/` and `main.ts` read a clock or arm a timer directly. So the
 * simulator can run the real connectors, ingest and relay on a virtual clock.
 */
export interface Timer {
  /** Disarms the timer; harmless when it has already fired. */
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since the epoch. May step; never use it to measure a duration. */
  nowMs(): number;
  /** Milliseconds from an arbitrary origin that never go back. Fractions are real. */
  monotonicMs(): number;
  /** Calls `callback` once after `delayMs`; from half a minute on, up to a second later. */
  after(delayMs: number, callback: () => void): Timer;
  /** Resolves after `delayMs`, or at once (never rejects) when a signal aborts. */
  sleep(delayMs: number, ...signals: AbortSignal[]): Promise<void>;
  /**
   * Resolves after the input already waiting has been handled: so one socket read becomes one batch
   * instead of many.
   */
  turn(): Promise<void>;
}

/** One moment, by both clocks in this process. */
export interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export const earlierOf = (a: Moment, b: Moment): Moment => (b.monotonicMs < a.monotonicMs ? b : a);
export const laterOf = (a: Moment, b: Moment): Moment => (b.monotonicMs > a.monotonicMs ? b : a);

export function momentOf(clock: Pick<Clock, 'nowMs' | 'monotonicMs'>): Moment {
  return { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
}

/**
 * The moment as wall time in whole milliseconds, for a claim that may be too low but not too high.
 * If the wall clock was set since, that is the lower time: either the one it showed then, or the
 * one it shows `now` less the time passed.
 */
export function cautiousWallMs(moment: Moment, now: Moment): number {
  return Math.floor(Math.min(moment.wallMs, now.wallMs - (now.monotonicMs - moment.monotonicMs)));
}

/**
 * 24.8 days. A longer timer fires after 1 ms in Node: a token with a month's life would be renewed
 * a thousand times a second.
 */
const longestMs = 2 ** 31 - 1;
/**
 * Timers from this length on end at whole seconds. So a thousand accounts' audits wake the
 * processor once a second and not 25 times.
 */
const sharedFromMs = 30_000;

/** The machine's own clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, callback) {
    let handle: NodeJS.Timeout;
    const arm = (restMs: number) => {
      handle = restMs > longestMs ? setTimeout(() => arm(restMs - longestMs), longestMs) : setTimeout(callback, restMs);
    };
    arm(delayMs < sharedFromMs ? delayMs : toWholeSecond(delayMs));
    return { cancel: () => clearTimeout(handle) };
  },
  sleep: (delayMs, ...signals) => sleepOn(systemClock, delayMs, ...signals),
  turn: () => new Promise((resolve) => setImmediate(resolve)),
};

function toWholeSecond(delayMs: number): number {
  const nowMs = performance.now();
  return Math.ceil((nowMs + delayMs) / 1000) * 1000 - nowMs;
}

/**
 * `sleep` in terms of `after`, for every clock. Not by `AbortSignal.any`: Node keeps such a signal,
 * with everything waiting for it, until a source aborts.
 */
export function sleepOn(clock: Pick<Clock, 'after'>, delayMs: number, ...signals: AbortSignal[]): Promise<void> {
  if (signals.some(({ aborted }) => aborted)) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      timer.cancel();
      for (const signal of signals) signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = clock.after(delayMs, finish);
    for (const signal of signals) signal.addEventListener('abort', finish, { once: true });
  });
}
