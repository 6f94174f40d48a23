import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, sleepOn, type Timer } from '../../src/runtime/clock.ts';

interface Armed {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * Time that moves only when told to, for code whose only waits are this clock and promises. Timers fire in the order in which they are due, those
 * due together in the order in which they were armed, and between two of them everything that the first set off runs until it waits for time again:
 * the same calls give the same order of events, on every machine.
 *
 * Invariant: no timer fires early, late, twice or after it was cancelled; `monotonicMs` never goes back. Wall time may (`stepWall`).
 */
export class VirtualClock implements Clock {
  private elapsedMs = 0;
  private wallOffsetMs: number;
  private armedSoFar = 0;
  private readonly heap: Armed[] = [];
  private readonly cancelled = new Set<Armed>();

  /** `startMs`: wall time at the beginning, milliseconds since the epoch. */
  constructor(startMs = Date.UTC(2026, 0, 5, 14, 30)) {
    this.wallOffsetMs = startMs;
  }

  nowMs(): number {
    return this.wallOffsetMs + Math.floor(this.elapsedMs);
  }

  monotonicMs(): number {
    return this.elapsedMs;
  }

  after(delayMs: number, callback: () => void): Timer {
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

  /** Timers armed and neither fired nor cancelled. */
  get armed(): number {
    return this.heap.length - this.cancelled.size;
  }

  /** Moves the wall clock without any time passing, as an operator or NTP would. */
  stepWall(byMs: number): void {
    this.wallOffsetMs += byMs;
  }

  /** Lets `byMs` pass. Resolves when everything due by then has run as far as it can without more time. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.elapsedMs + byMs;
    await this.settle();
    while (this.fireNext(untilMs)) await this.settle();
    this.elapsedMs = untilMs;
  }

  /** Lets time pass, timer by timer, until `done` holds. False: it does not within `limitMs`, or nothing waits for time any more. */
  async advanceUntil(done: () => boolean, limitMs: number): Promise<boolean> {
    const untilMs = this.elapsedMs + limitMs;
    await this.settle();
    while (!done()) {
      if (!this.fireNext(untilMs)) return false;
      await this.settle();
    }
    return true;
  }

  /** Runs everything that can run without time passing. One turn of the event loop drains promises however long their chains are. */
  async settle(): Promise<void> {
    await nextTurn();
  }

  private fireNext(untilMs: number): boolean {
    for (;;) {
      const next = this.heap[0];
      if (next === undefined || next.dueMs > untilMs) return false;
      popHeap(this.heap);
      if (this.cancelled.delete(next)) continue;
      this.elapsedMs = Math.max(this.elapsedMs, next.dueMs);
      next.callback();
      return true;
    }
  }
}

function before(a: Armed, b: Armed): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

/** A binary heap: the simulator keeps thousands of timers, most of them deadlines that are cancelled. */
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
