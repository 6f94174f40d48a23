import type { Clock, Timer } from '../../src/runtime/clock.ts';
import { sleepOn } from '../../src/runtime/clock.ts';
import type { Random } from '../../src/runtime/random.ts';

interface Held {
  readonly kind: 'timer' | 'input';
  readonly work: () => void;
}

/**
 * The boundary of one simulated process. Everything that reaches the code inside passes here: its
 * timers, the answers it waits for, what its sockets bring. So a process can end at any await, or
 * stand still while the world goes on.
 *
 * States: running → frozen (what would reach it waits outside) → running …; from both →
 * crashed (nothing reaches it ever again). Invariant: a crashed process never runs another
 * line; a frozen one runs nothing until it is thawed, and then one thing after the other, each
 * as far as it goes by itself, at a time that has moved on. Its monotonic clock is the
 * world's; its wall clock may be set wrong.
 */
export class Host {
  readonly name: string;
  readonly clock: Clock;
  /** How far its wall clock is from the world's. */
  wallOffsetMs = 0;
  /** Told at the crash: sockets are reset, unsent bytes are lost. */
  readonly onCrash: (() => void)[] = [];
  private state: 'running' | 'frozen' | 'crashed' = 'running';
  private held: Held[] = [];
  private armedTimers = 0;
  private awaited = 0;
  private readonly world: Clock;

  constructor(name: string, world: Clock) {
    this.name = name;
    this.world = world;
    this.clock = {
      nowMs: () => world.nowMs() + this.wallOffsetMs,
      monotonicMs: () => world.monotonicMs(),
      after: (delayMs, callback) => this.arm(delayMs, callback),
      sleep: (delayMs, ...signals) => sleepOn(this.clock, delayMs, ...signals),
      turn: () => sleepOn(this.clock, 0),
    };
  }

  get crashed(): boolean {
    return this.state === 'crashed';
  }

  get frozen(): boolean {
    return this.state === 'frozen';
  }

  /** Timers that the process has armed and neither seen fire nor cancelled. */
  get armed(): number {
    return this.armedTimers;
  }

  /** Answers that it still waits for. */
  get waiting(): number {
    return this.awaited;
  }

  /** Runs `work` inside: now, once thawed, or never. */
  deliver(work: () => void, kind: Held['kind'] = 'input'): void {
    if (this.state === 'crashed') return;
    if (this.state === 'frozen') this.held.push({ kind, work });
    else work();
  }

  /** What the outside answers, as the process gets to see it. */
  answer<T>(outside: Promise<T>): Promise<T> {
    this.awaited += 1;
    return new Promise<T>((resolve, reject) => {
      const take = (work: () => void) =>
        this.deliver(() => {
          this.awaited -= 1;
          work();
        });
      outside.then(
        (value) => take(() => resolve(value)),
        (error: unknown) => take(() => reject(error)),
      );
    });
  }

  crash(): void {
    this.state = 'crashed';
    this.held = [];
    for (const tell of this.onCrash) tell();
  }

  freeze(): void {
    if (this.state === 'running') this.state = 'frozen';
  }

  /**
   * An event loop that wakes looks at its timers before its
   * sockets, mostly: which comes first is drawn.
   */
  thaw(random: Random): void {
    if (this.state !== 'frozen') return;
    if (random.next() < 0.5) {
      const timers = this.held.filter(({ kind }) => kind === 'timer');
      this.held = timers.concat(this.held.filter(({ kind }) => kind === 'input'));
    }
    this.pump();
  }

  private pump(): void {
    if (this.state !== 'frozen') return;
    const next = this.held.shift();
    if (next === undefined) {
      this.state = 'running';
      return;
    }
    next.work();
    this.world.after(0, () => this.pump());
  }

  private arm(delayMs: number, callback: () => void): Timer {
    let over = false;
    const finish = () => {
      over = true;
      this.armedTimers -= 1;
    };
    this.armedTimers += 1;
    const fire = () => {
      if (over) return;
      finish();
      callback();
    };
    const timer = this.world.after(delayMs, () => this.deliver(fire, 'timer'));
    return {
      cancel: () => {
        if (over) return;
        finish();
        timer.cancel();
      },
    };
  }
}
