import { signal } from '@preact/signals-core';
import { type Ports, pause } from './ports.ts';
import { type Answer, type RestDeps, sentenceOf } from './rest.ts';

export interface PolledState<T> {
  /** The newest answer; undefined: there was none yet. */
  readonly value: T | undefined;
  /** Why the newest read brought nothing: `value` is older than that. */
  readonly fault: string | undefined;
}

interface PolledOptions<T> {
  readonly read: (signal: AbortSignal) => Promise<Answer<T>>;
  /** Between an answer and the next read; the value may ask for a quicker one. */
  readonly everyMs: (value: T | undefined) => number;
}

/** A read that brought nothing is repeated sooner than the value would be read again. */
const afterFaultMs = 2_000;

/** Something in REST without an event: read again and again while a screen shows it. */
export class Polled<T> {
  readonly state = signal<PolledState<T>>({ value: undefined, fault: undefined });
  private readonly ports: Ports;
  private readonly options: PolledOptions<T>;
  private resting = new AbortController();

  constructor(ports: Ports, options: PolledOptions<T>) {
    this.ports = ports;
    this.options = options;
  }

  /** Until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const leave = () => this.resting.abort();
    signal.addEventListener('abort', leave);
    while (!signal.aborted) {
      // Before the read: a wish that comes during a read is not lost.
      this.resting = new AbortController();
      const { signal: rest } = this.resting;
      const answer = await this.options.read(signal);
      if (signal.aborted) break;
      const { value } = this.state.peek();
      this.state.value =
        answer.kind === 'ok' ? { value: answer.body, fault: undefined } : { value, fault: sentenceOf(answer) };
      await pause(this.ports, this.waitMs(), rest);
    }
    signal.removeEventListener('abort', leave);
  }

  private waitMs(): number {
    const { value, fault } = this.state.peek();
    const everyMs = this.options.everyMs(value);
    return fault === undefined ? everyMs : Math.min(everyMs, afterFaultMs);
  }

  /** Reads again at once, after an action that changes the answer. */
  again(): void {
    this.resting.abort();
  }
}

/** An answer from REST, read again and again. */
export function polledAt<T>(
  { ports, rest }: RestDeps,
  path: string,
  everyMs: (value: T | undefined) => number,
): Polled<T> {
  return new Polled<T>(ports, { read: (signal) => rest.get<T>(path, {}, signal), everyMs });
}
