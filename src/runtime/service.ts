/**
 * A long-lived part of the process. The supervisor starts parts in order and drains them in the order of the shutdown
 * plan, which is not simply the reverse: a source stops before the queue behind it is emptied.
 */
export interface Service {
  /** Short, stable, kebab-case: it names the part in logs and in `/status`. */
  readonly name: string;
  /** Resolves when the part is working, or will work without further help (it keeps trying by itself). Rejects only for a fault that ends the process. */
  start(): Promise<void>;
  /**
   * Finishes the work in hand and takes nothing new. Resolves when nothing of the part runs any more; gives up the rest when
   * `signal` aborts (a crash must be as good as a slow drain, so giving up loses nothing). Called once, also after a failed start and while `start` still waits.
   */
  drain(signal: AbortSignal): Promise<void>;
}
