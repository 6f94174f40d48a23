import type { CommittedBatch, LogRow } from '../../domain/committed-batch.ts';
import type { TracedSpan, Tracing } from '../../observability/tracing.ts';
import { dropOldest } from '../../runtime/drop-oldest.ts';
import type { Random } from '../../runtime/random.ts';

/** A row with its record's `traceparent` header, if it is traced. */
type TracedRow = LogRow & { readonly traceparent?: string };

/** Batches on their way to Kafka, with some traced rows. */
interface TracedSend {
  /** All rows in the batches. */
  readonly rows: readonly TracedRow[];
  /**
   * Kafka has acknowledged them, or the send failed: then they are sent again from the log, without
   * a header.
   */
  end(failed?: string): void;
}

/**
 * The most updates of one order that join its command's trace. An order may have thousands of
 * fills.
 */
const mostOfCommand = 16;
const mostCounted = 1_000;

/**
 * Traces of updates: from the frame to the commit, and from the send to Kafka's acknowledgement.
 * Nothing is noted while an update is on its way: the batch has the times already, so its spans are
 * made when it is handed over. An update that is not traced costs a countdown.
 *
 * Traced are one update in `every`, chosen at random, and the first updates of a traced command's
 * order, in that command's trace.
 */
export class UpdateTraces {
  private untilNext: number;
  /** How many updates each traced command has had; the newest 1,000 commands. */
  private readonly counts = new Map<string, number>();
  private readonly deps: { readonly tracing: Tracing; readonly random: Random };
  private readonly every: number;

  /** `every` 0: only traced commands' updates. */
  constructor(deps: UpdateTraces['deps'], options: { readonly every: number }) {
    this.deps = deps;
    this.every = options.every;
    this.untilNext = this.draw();
  }

  /** Undefined: none of their rows is traced. */
  begin(batches: readonly CommittedBatch[]): TracedSend | undefined {
    let rows: TracedRow[] | undefined;
    const spans: Traced[] = [];
    let before = 0;
    for (const batch of batches) {
      for (let i = 0; i < batch.rows.length; i += 1) {
        const traced = this.traced(batch, i);
        if (traced === undefined) continue;
        rows ??= batches.flatMap((each) => each.rows);
        const row = rows[before + i];
        if (row !== undefined) rows[before + i] = { ...row, traceparent: traced.publish.traceparent };
        spans.push(traced);
      }
      before += batch.rows.length;
    }
    if (rows === undefined) return undefined;
    const end = (failed?: string) => {
      for (const { publish, update } of spans) {
        publish.end({ failed });
        update.end({ failed });
      }
    };
    return { rows, end };
  }

  private traced(batch: CommittedBatch, i: number): Traced | undefined {
    const row = batch.rows[i];
    if (row === undefined || row.topic !== 'updates') return undefined;
    const isDrawn = this.isDrawn();
    const { commandId } = row;
    const parent = commandId === undefined ? undefined : this.deps.tracing.ofCommand(commandId);
    const joins = commandId !== undefined && parent !== undefined && this.countUpdate(commandId);
    if (!isDrawn && !joins) return undefined;
    const { tracing } = this.deps;
    const sinceMs = batch.receivedMs[i];
    const update = tracing.begin('update', {
      ...(joins && { parent, follows: true }),
      sinceMs,
      attributes: {
        'tidemark.order.key': row.key,
        'tidemark.stream': batch.streams[i],
        'tidemark.account.id': row.accountId,
        'tidemark.command.id': commandId,
        'tidemark.batch': batch.number.toString(),
      },
    });
    // Not ended, so not sent: the sampler did not take it.
    if (!update.sampled) return undefined;
    const { context: parentOf } = update;
    tracing.begin('commit', { parent: parentOf, sinceMs }).end({ atMs: batch.committedMs });
    const attributes = { 'messaging.system': 'kafka', 'messaging.kafka.message.key': row.key };
    return { update, publish: tracing.begin('publish update', { kind: 'producer', parent: parentOf, attributes }) };
  }

  private isDrawn(): boolean {
    if (this.every === 0) return false;
    this.untilNext -= 1;
    if (this.untilNext > 0) return false;
    this.untilNext = this.draw();
    return true;
  }

  /** On average `every`, at random: a pattern in the updates must not decide which are traced. */
  private draw(): number {
    return 1 + Math.floor(this.deps.random.next() * (2 * this.every - 1));
  }

  private countUpdate(commandId: string): boolean {
    const count = (this.counts.get(commandId) ?? 0) + 1;
    if (count > mostOfCommand) return false;
    this.counts.set(commandId, count);
    dropOldest(this.counts, mostCounted);
    return true;
  }
}

interface Traced {
  readonly update: TracedSpan;
  readonly publish: TracedSpan;
}
