import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, sleepOn, type Timer } from '../../../src/runtime/clock.ts';
import { watchingTurn } from './turn-watch.ts';

/** Of the busiest millisecond of the simulator's first thousand seeds, thirty times as many. */
const mostCallsAtOnce = 20_000;

/** Something turns without waiting: it asked the clock again and again, and no time passed. */
export class StandstillError extends Error {
  constructor(atMs: number) {
    super(`a loop that waits for nothing: the clock was asked ${mostCallsAtOnce} times at ${Math.floor(atMs)} ms`);
    this.name = 'StandstillError';
  }
}

interface Armed {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * Time that moves only when told to, for code whose only waits are this clock and promises. Timers
 * fire in the order in which they are due, those due together in the order in which they were
 * armed, and between two of them everything that the first set off runs until it waits for time
 * again: the same calls give the same order of events, on every machine.
 *
 * Invariant: no timer fires early, late, twice or after it was cancelled; `monotonicMs` never goes
 * back. Wall time may (`stepWall`).
 *
 * A loop that waits for nothing would starve the test as it starves a process. The clock counts how
 * often it is asked within a millisecond of its time (so a sleep of zero counts too). Beyond a
 * bound its time has ended: to read it throws, no timer fires any more, and so the loop ends where
 * it stands. `settle` rejects, which fails the test. A loop that never asks the clock is caught by
 * `turn-watch.ts`. Where the test itself calls what reads the clock, between two of its own
 * `await`s, that counts once: a test may emit 20,000 frames in a row.
 */
export class VirtualClock implements Clock {
  private elapsedMs = 0;
  private calls = 0;
  /** The clock runs what waited for it; otherwise the test runs. */
  private driving = false;
  private isTurnCounted = false;
  private standstill: StandstillError | undefined;
  private wallOffsetMs: number;
  private armedSoFar = 0;
  private readonly heap: Armed[] = [];
  private readonly cancelled = new Set<Armed>();

  /** `startMs`: wall time at the beginning, milliseconds since the epoch. */
  constructor(startMs = Date.UTC(2026, 0, 5, 14, 30)) {
    this.wallOffsetMs = startMs;
  }

  nowMs(): number {
    this.called();
    if (this.standstill !== undefined) throw this.standstill;
    return this.wallOffsetMs + Math.floor(this.elapsedMs);
  }

  monotonicMs(): number {
    this.called();
    if (this.standstill !== undefined) throw this.standstill;
    return this.elapsedMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    this.called();
    let live = true;
    const fire = () => {
      live = false;
      callback();
    };
    const armed: Armed = { dueMs: this.elapsedMs + Math.max(0, delayMs), order: this.armedSoFar, callback: fire };
    this.armedSoFar += 1;
    pushHeap(this.heap, armed);
    return {
      cancel: () => {
        if (live) this.cancelled.add(armed);
        live = false;
      },
    };
  }

  sleep(delayMs: number, ...signals: AbortSignal[]): Promise<void> {
    return sleepOn(this, delayMs, ...signals);
  }

  turn(): Promise<void> {
    return this.sleep(0);
  }

  /** `monotonicMs`, for who only watches: it does not count, and does not throw. */
  get atMs(): number {
    return this.elapsedMs;
  }

  /** Timers armed and neither fired nor cancelled. */
  get armed(): number {
    return this.heap.length - this.cancelled.size;
  }

  /** Moves the wall clock without any time passing, as an operator or NTP would. */
  stepWall(byMs: number): void {
    this.wallOffsetMs += byMs;
  }

  /**
   * Lets `byMs` pass. Resolves when everything due by then has
   * run as far as it can without more time.
   */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.elapsedMs + byMs;
    await this.settle();
    while (this.fireNext(untilMs)) await this.settle();
    this.moveTo(untilMs);
  }

  /**
   * Lets time pass, timer by timer, until `done` holds. False: it does not within `limitMs`, or
   * nothing waits for time any more.
   */
  async advanceUntil(done: () => boolean, limitMs: number): Promise<boolean> {
    const untilMs = this.elapsedMs + limitMs;
    await this.settle();
    while (!done()) {
      if (!this.fireNext(untilMs)) return false;
      await this.settle();
    }
    return true;
  }

  /**
   * Runs everything that can run without time passing. One turn of the event loop drains promises
   * however long their chains are.
   */
  async settle(): Promise<void> {
    this.driving = true;
    try {
      await watchingTurn(() => nextTurn());
    } finally {
      this.driving = false;
    }
    if (this.standstill !== undefined) throw this.standstill;
  }

  private called(): void {
    if (!this.driving) {
      if (this.isTurnCounted) return;
      this.isTurnCounted = true;
      queueMicrotask(() => {
        this.isTurnCounted = false;
      });
    }
    this.calls += 1;
    if (this.calls > mostCallsAtOnce) this.standstill ??= new StandstillError(this.elapsedMs);
  }

  private moveTo(ms: number): void {
    if (Math.floor(ms) > Math.floor(this.elapsedMs)) this.calls = 0;
    this.elapsedMs = Math.max(this.elapsedMs, ms);
  }

  private fireNext(untilMs: number): boolean {
    for (;;) {
      const next = this.heap[0];
      if (next === undefined || next.dueMs > untilMs) return false;
      popHeap(this.heap);
      if (this.cancelled.delete(next)) continue;
      this.moveTo(next.dueMs);
      this.driving = true;
      try {
        next.callback();
      } finally {
        this.driving = false;
      }
      return true;
    }
  }
}

function before(a: Armed, b: Armed): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

/**
 * A binary heap: the simulator keeps thousands of timers, most
 * of them deadlines that are cancelled.
 */
function pushHeap(heap: Armed[], item: Armed): void {
  let at = heap.length;
  heap.push(item);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || before(above, item)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = item;
}

function popHeap(heap: Armed[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    const left = heap[2 * at + 1];
    const right = heap[2 * at + 2];
    if (left === undefined) break;
    const takeRight = right !== undefined && before(right, left);
    const child = takeRight ? right : left;
    if (before(last, child)) break;
    heap[at] = child;
    at = takeRight ? 2 * at + 2 : 2 * at + 1;
  }
  heap[at] = last;
}
