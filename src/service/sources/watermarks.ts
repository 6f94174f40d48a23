import type { Watermark } from '../../domain/observation.ts';
import type { Stream } from '../../domain/order.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { ObservationSink } from './observation-sink.ts';
import type { Extent } from './repairs.ts';

/**
 * The watermarks for one account's source, for consumers; its heartbeats are in `heartbeats`.
 * Marks go through ingest like everything else, so on Kafka each follows the rows it is about.
 *
 * States: never live → live → lost → live … Invariant: `resynchronised` closes exactly one
 * interval, opened by `lost` or by the time before this process, and comes before the next `live`.
 */
export class Watermarks {
  private isLive = false;
  private lostFromMs: number | undefined;
  private readonly deps: { readonly sink: ObservationSink; readonly clock: Clock; readonly random: Random };
  private readonly stream: Stream;
  private readonly accountId: string;

  /** `knownUpToMs`: how far an earlier process had read; undefined when nothing was ever read. */
  constructor(
    deps: Watermarks['deps'],
    options: { stream: Stream; accountId: string; knownUpToMs: number | undefined },
  ) {
    this.deps = deps;
    this.stream = options.stream;
    this.accountId = options.accountId;
    this.lostFromMs = options.knownUpToMs;
  }

  /**
   * `upToMs`: when the read began; later changes come by the stream. `extent`: what the reads
   * brought.
   */
  live(upToMs: number, extent: Extent): void {
    const { lostFromMs } = this;
    if (lostFromMs !== undefined) {
      const toMs = Math.max(upToMs, lostFromMs);
      this.mark('resynchronised', { atMs: toMs, fromMs: lostFromMs, toMs, ...extent });
    }
    this.lostFromMs = undefined;
    this.isLive = true;
    this.mark('live', { atMs: upToMs });
  }

  /**
   * `fromMs`: up to there nothing can be missing. Writes no mark when the account was not live: the
   * interval is open already.
   */
  lost(fromMs: number, reason: string): boolean {
    if (!this.isLive) return false;
    this.isLive = false;
    this.lostFromMs = fromMs;
    const nowMs = this.deps.clock.nowMs();
    this.mark('lost', { atMs: nowMs, fromMs, toMs: nowMs, reason });
    return true;
  }

  private mark(
    event: 'live' | 'lost' | 'resynchronised',
    rest: Pick<Watermark, 'atMs' | 'fromMs' | 'toMs' | 'reason'> & Partial<Extent>,
  ): void {
    const { sink, random } = this.deps;
    const { stream, accountId } = this;
    sink.offer({ kind: 'watermarks', markId: random.uuid(), stream, accountIds: [accountId], event, ...rest });
  }
}

/** A record stays far below Kafka's size limit. */
const accountsPerMark = 500;

/**
 * "Complete up to" for a stream's accounts: one mark for all that are complete up to the same time,
 * and one of its own for an account with orders that could not be read (`unread`).
 * A mark for each account was 91 % of what a system at rest wrote
 * (docs/decisions/034-one-heartbeat-for-many-accounts.md).
 */
export function heartbeats(
  stream: Stream,
  completeUpToMs: ReadonlyMap<string, number>,
  random: Random,
  unread: ReadonlyMap<string, readonly string[]> = new Map(),
): Watermark[] {
  const marks: Watermark[] = [];
  const filling = new Map<number, [string, ...string[]]>();
  for (const [accountId, atMs] of completeUpToMs) {
    const unreadOrderIds = unread.get(accountId);
    if (unreadOrderIds !== undefined) {
      const about = { stream, accountIds: [accountId], event: 'heartbeat', atMs, unreadOrderIds } as const;
      marks.push({ kind: 'watermarks', markId: random.uuid(), ...about });
      continue;
    }
    const accountIds = filling.get(atMs);
    if (accountIds !== undefined && accountIds.length < accountsPerMark) {
      accountIds.push(accountId);
      continue;
    }
    const first: [string] = [accountId];
    filling.set(atMs, first);
    marks.push({ kind: 'watermarks', markId: random.uuid(), stream, accountIds: first, event: 'heartbeat', atMs });
  }
  return marks;
}
