/** The signals that ask a process to end, with their numbers: a process that one of them ended has the exit code 128 + number. */
export const endingSignals = { SIGHUP: 1, SIGINT: 2, SIGPIPE: 13, SIGTERM: 15 } as const;

/**
 * Who hears of a signal. The first one asks whoever listens to come to an end; with nobody listening, and for every one after it, the
 * process ends at once: who asks twice does not want to wait for a drain.
 *
 * Invariant: listeners are called for the first signal only.
 */
export class SignalGate {
  private asked = false;
  private readonly listeners = new Set<(signal: string) => void>();

  /** Returns the way to unsubscribe. */
  listen(listener: (signal: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The exit code with which to end at once, or undefined when the listeners will see to it. */
  receive(signal: keyof typeof endingSignals): number | undefined {
    if (this.asked || this.listeners.size === 0) return 128 + endingSignals[signal];
    this.asked = true;
    for (const listener of this.listeners) listener(signal);
    return undefined;
  }
}
