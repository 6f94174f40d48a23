/**
 * The signals that ask a process to end, with their numbers: a process ended by one has the exit
 * code 128 + number.
 */
export const endingSignals = { SIGHUP: 1, SIGINT: 2, SIGPIPE: 13, SIGTERM: 15 } as const;

/**
 * `system`: the process got the signal itself. `launcher`: its launcher got one, and passes it on
 * (bin/tidemark.js).
 */
export type SignalWay = 'system' | 'launcher';

/**
 * Decides the effect of a signal. The first one asks the listeners to end in order. Without a
 * listener, and for every later signal, the process ends at once: a user who asks twice does not
 * want to wait for a drain.
 *
 * A signal to the whole process group comes by both ways, in any order and any time apart. So each
 * way is counted by itself, and the higher count says how often the process was asked. A time
 * window could not tell a slow launcher from a second Ctrl-C.
 *
 * Invariant: listeners are called for the first signal only.
 */
export class SignalGate {
  private asked = 0;
  private readonly received = { system: 0, launcher: 0 };
  private readonly listeners = new Set<(signal: string) => void>();

  /** Whether any signal came. */
  get isAsked(): boolean {
    return this.asked > 0;
  }

  /** Returns a function to unsubscribe. */
  listen(listener: (signal: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The exit code for an end at once; undefined: the listeners end the process. */
  receive(signal: keyof typeof endingSignals, way: SignalWay = 'system'): number | undefined {
    this.received[way] += 1;
    if (this.received[way] <= this.asked) return undefined;
    this.asked = this.received[way];
    if (this.asked > 1 || this.listeners.size === 0) return 128 + endingSignals[signal];
    for (const listener of this.listeners) listener(signal);
    return undefined;
  }
}
