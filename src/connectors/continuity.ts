import type { ContinuityMark } from '../domain/observation.ts';
import type { Stream } from '../domain/order.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { ObservationSink } from './observation-sink.ts';

/**
 * The continuity marks of one account's source, for consumers. Marks go through ingest like everything else, so on Kafka each follows the rows that it is about.
 *
 * States: never live → live → lost → live … Invariant: `resynchronised` closes exactly the interval that `lost` opened (or that the time before this
 * process opened), and comes before the `live` that ends it.
 */
export class Continuity {
  private lostFromMs: number | undefined;
  private isLive = false;
  private readonly deps: { readonly sink: ObservationSink; readonly clock: Clock; readonly random: Random };
  private readonly stream: Stream;
  private readonly accountId: string;

  /** `knownUpToMs`: how far an earlier process had read; undefined when nothing was ever read. */
  constructor(
    deps: { sink: ObservationSink; clock: Clock; random: Random },
    options: { stream: Stream; accountId: string; knownUpToMs: number | undefined },
  ) {
    this.deps = deps;
    this.stream = options.stream;
    this.accountId = options.accountId;
    this.lostFromMs = options.knownUpToMs;
  }

  live(): void {
    const nowMs = this.deps.clock.nowMs();
    if (this.lostFromMs !== undefined) this.mark('resynchronised', { fromMs: this.lostFromMs, toMs: nowMs });
    this.lostFromMs = undefined;
    this.isLive = true;
    this.mark('live', {});
  }

  /** `fromMs`: the last whole message. Writes no mark when the account was not live: the interval is open already. */
  lost(fromMs: number, reason: string): boolean {
    if (!this.isLive) return false;
    this.isLive = false;
    this.lostFromMs = fromMs;
    this.mark('lost', { fromMs, toMs: this.deps.clock.nowMs(), reason });
    return true;
  }

  /** Complete up to `atMs`: the last whole message of a connection that carries the account without a gap. */
  heartbeat(atMs: number): void {
    if (this.isLive) this.mark('heartbeat', { atMs });
  }

  private mark(event: ContinuityMark['event'], rest: Partial<Pick<ContinuityMark, 'atMs' | 'fromMs' | 'toMs' | 'reason'>>): void {
    const { sink, clock, random } = this.deps;
    const { stream, accountId } = this;
    sink.offer({ kind: 'continuity', markId: random.uuid(), stream, accountId, event, atMs: clock.nowMs(), ...rest });
  }
}
