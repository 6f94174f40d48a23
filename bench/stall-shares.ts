/** An update is late when it took longer than this from the socket to its acknowledgement. */
export const lateMs = 30;

/** Milliseconds that a thread ran, and that it was ready and no core was free. */
export interface CoreTimes {
  readonly ranMs: number;
  readonly waitedMs: number;
}

/** One committed and acknowledged batch; all times by the service's monotonic clock. */
export interface TracedBatch {
  readonly rows: number;
  /** When its late updates came. */
  readonly receivedMs: readonly number[];
  readonly sentMs: number;
  /**
   * When Postgres had answered the batch before it, which stands before it on the connection;
   * `sentMs` where none was under way.
   */
  readonly aheadUntilMs: number;
  readonly committedMs: number;
  /** What its statement took of the lane's backend. */
  readonly backend: CoreTimes;
  /** When its send to Kafka began. */
  readonly sendMs: number;
  readonly ackedMs: number;
}

/** A time in which the event loop did not turn. */
interface Block {
  readonly fromMs: number;
  readonly untilMs: number;
  /** For so long of it the service's first thread was ready and no core was free. */
  readonly waitedForCoreMs: number;
}

/** What `stall-trace.ts` writes. */
export interface StallTrace {
  /** To be added to the service's monotonic clock for that of the machine. */
  readonly clockOffsetMs: number;
  readonly collections: [fromMs: number, untilMs: number][];
  readonly blocks: Block[];
  readonly batches: TracedBatch[];
}

const causes = [
  'collector',
  'no core for the service',
  'event loop busy',
  'queue for a batch',
  'the batch before it',
  'statement: runs',
  'statement: no core for it',
  'statement: sync, disk, locks',
  'queue for the send',
  'the broker',
] as const;
export type Cause = (typeof causes)[number];

export interface StallShares {
  readonly updates: number;
  readonly late: number;
  /** Of all milliseconds of the late updates, and how many of these waited for it longest. */
  readonly causes: readonly { readonly cause: Cause; readonly percent: number; readonly longestOf: number }[];
}

type Times = Record<Cause, number>;

/**
 * What the late updates waited for, by cause. A time in which the event loop stood still counts for
 * the loop, whatever else was under way: an answer that is there is not read then. The rest counts
 * for the step that the update was in.
 */
export function shareStalls(
  trace: StallTrace,
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): StallShares {
  const inWindow = trace.batches.filter(({ ackedMs }) => ackedMs >= fromMs && ackedMs < untilMs);
  const total = noTimes();
  const longest = noTimes();
  let late = 0;
  for (const batch of inWindow) {
    if (batch.receivedMs.length === 0) continue;
    const firstMs = Math.min(...batch.receivedMs);
    const blocks = trace.blocks.filter((block) => block.untilMs > firstMs && block.fromMs < batch.ackedMs);
    const collections = trace.collections.filter(([from, until]) => until > firstMs && from < batch.ackedMs);
    for (const receivedMs of batch.receivedMs) {
      const times = timesOf(batch, receivedMs, blocks, collections);
      for (const cause of causes) total[cause] += times[cause];
      longest[causes.reduce((most, cause) => (times[cause] > times[most] ? cause : most))] += 1;
      late += 1;
    }
  }
  const all = causes.reduce((sum, cause) => sum + total[cause], 0);
  return {
    updates: inWindow.reduce((sum, { rows }) => sum + rows, 0),
    late,
    causes: causes.map((cause) => ({
      cause,
      percent: all === 0 ? 0 : Math.round((total[cause] / all) * 1000) / 10,
      longestOf: longest[cause],
    })),
  };
}

function timesOf(
  batch: TracedBatch,
  receivedMs: number,
  blocks: readonly Block[],
  collections: StallTrace['collections'],
): Times {
  const times = noTimes();
  for (const block of blocks) addBlock(times, block, collections, receivedMs, batch.ackedMs);
  const free = (fromMs: number, untilMs: number) =>
    Math.max(
      0,
      untilMs - fromMs - blocks.reduce((sum, block) => sum + overlap(block.fromMs, block.untilMs, fromMs, untilMs), 0),
    );
  times['queue for a batch'] = free(receivedMs, batch.sentMs);
  times['the batch before it'] = free(batch.sentMs, batch.aheadUntilMs);
  const statement = free(batch.aheadUntilMs, batch.committedMs);
  // Below 0 where the connection is another one since.
  const runs = Math.max(0, Math.min(batch.backend.ranMs, statement));
  const waits = Math.max(0, Math.min(batch.backend.waitedMs, statement - runs));
  times['statement: runs'] = runs;
  times['statement: no core for it'] = waits;
  times['statement: sync, disk, locks'] = statement - runs - waits;
  times['queue for the send'] = free(batch.committedMs, batch.sendMs);
  times['the broker'] = free(Math.max(batch.committedMs, batch.sendMs), batch.ackedMs);
  return times;
}

function addBlock(
  times: Times,
  block: Block,
  collections: StallTrace['collections'],
  fromMs: number,
  untilMs: number,
): void {
  const stood = overlap(block.fromMs, block.untilMs, fromMs, untilMs);
  if (stood === 0) return;
  const [start, end] = [Math.max(block.fromMs, fromMs), Math.min(block.untilMs, untilMs)];
  const collected = Math.min(
    stood,
    collections.reduce((sum, [from, until]) => sum + overlap(from, until, start, end), 0),
  );
  const share = stood / (block.untilMs - block.fromMs);
  const waited = Math.min(stood - collected, block.waitedForCoreMs * share);
  times.collector += collected;
  times['no core for the service'] += waited;
  times['event loop busy'] += stood - collected - waited;
}

function overlap(aFrom: number, aUntil: number, bFrom: number, bUntil: number): number {
  return Math.max(0, Math.min(aUntil, bUntil) - Math.max(aFrom, bFrom));
}

function noTimes(): Times {
  return Object.fromEntries(causes.map((cause) => [cause, 0])) as Times;
}
