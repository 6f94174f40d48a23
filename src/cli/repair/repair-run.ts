import type { Pool } from 'pg';
import type { Clock } from '../../runtime/clock.ts';
import {
  answerRepair,
  askRepair,
  type NewRepairRequest,
  type RepairAnswer,
  readAnswer,
} from '../../store/repair-requests.ts';
import type { CliIo, TextOutput } from '../io/io.ts';
import { readConfig } from '../io/read-config.ts';
import { withDatabase } from '../with-database.ts';

/**
 * Runs `work` with one connection to the service's database, and a
 * signal that aborts when the user interrupts.
 */
export async function withRepairPool(
  io: CliIo,
  work: (pool: Pool, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const config = readConfig(io, ['databaseUrl']);
  const interrupted = new AbortController();
  const unsubscribe = io.onSignal(() => interrupted.abort());
  try {
    await withDatabase(io, config, { applicationName: 'tidemark-repair', maxConnections: 1 }, (pool) =>
      work(pool, interrupted.signal),
    );
  } finally {
    unsubscribe();
  }
}

/**
 * How a command that reads millions of rows may use the database of a running service: one
 * connection, and one process of the server behind it. Without this the planner uses two more
 * workers for the larger reads, and spends 100 ms to compile statements that take 30 ms.
 */
export const lightLoad = { maxConnections: 1, settings: { max_parallel_workers_per_gather: '0', jit: 'off' } } as const;

const width = 30;

/** One line of a terminal that overwrites itself, at most ten times a second. */
export class ProgressBar {
  private shownMs = Number.NEGATIVE_INFINITY;
  private readonly out: TextOutput;
  private readonly nowMs: () => number;

  constructor(deps: { readonly out: TextOutput; readonly nowMs: () => number }) {
    this.out = deps.out;
    this.nowMs = deps.nowMs;
  }

  /** `part`: 0 to 1; undefined: the total is not known. */
  show(part: number | undefined, words: string): void {
    const nowMs = this.nowMs();
    if (nowMs - this.shownMs < 100 && (part === undefined || part < 1)) return;
    this.shownMs = nowMs;
    if (part === undefined) {
      this.out.write(`\r${words}\u001b[K`);
      return;
    }
    const full = Math.round(Math.min(1, Math.max(0, part)) * width);
    this.out.write(
      `\r[${'#'.repeat(full)}${'.'.repeat(width - full)}] ${String(Math.floor(part * 100)).padStart(3)} %  ${words}\u001b[K`,
    );
  }

  /** Leaves the line as it is; the next call of `show` begins a new one. */
  end(): void {
    if (this.shownMs !== Number.NEGATIVE_INFINITY) this.out.write('\n');
    this.shownMs = Number.NEGATIVE_INFINITY;
  }
}

const lookEveryMs = 250;

/**
 * Asks the process that follows the account, and waits for the answer. A caller that gives up
 * withdraws the request, so that it is not done later without its knowledge; an answer that comes
 * at that very moment counts.
 */
export async function repairBy(
  deps: {
    readonly pool: Pool;
    readonly clock: Clock;
    readonly signal: AbortSignal;
    /** Called now and then with the time that it has waited, in milliseconds. */
    readonly onWait?: (waitedMs: number) => void;
  },
  request: NewRepairRequest,
  waitMs: number,
): Promise<RepairAnswer> {
  const { pool, clock, signal, onWait } = deps;
  const id = await askRepair(pool, request);
  const beganMs = clock.monotonicMs();
  const giveUpMs = beganMs + waitMs;
  while (clock.monotonicMs() < giveUpMs && !signal.aborted) {
    const answer = await readAnswer(pool, id);
    if (answer !== undefined) return answer;
    onWait?.(clock.monotonicMs() - beganMs);
    await clock.sleep(lookEveryMs, signal);
  }
  const withdrawn: RepairAnswer = { outcome: 'withdrawn', detail: 'no service that follows the account has answered' };
  return (await answerRepair(pool, id, withdrawn)) ? withdrawn : ((await readAnswer(pool, id)) ?? withdrawn);
}
