import { z } from 'zod';
import type { Head, Reduction } from '../../domain/head.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { Observation } from '../../domain/observation.ts';
import { orderKey, streams } from '../../domain/order.ts';
import { present } from '../../domain/present.ts';
import { reduce } from '../../domain/reduce.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { decodeOrder } from '../../service/sources/decode-order.ts';
import type { RecordedRow } from '../../service/sources/recorded-row.ts';
import { parseJson } from '../../venue/parse-json.ts';
import { streamOf, type Venue } from '../../venue/venue.ts';

const rowLine = z.object({
  stream: z.enum(streams),
  cause: z.enum(['stream', 'snapshot', 'reply', 'probe']),
  observedAtMs: z.number(),
  text: z.string(),
  accountId: z.string().exactOptional(),
  sourceEpoch: z.number().exactOptional(),
  confirmed: z.literal(true).exactOptional(),
  withheld: z.literal(true).exactOptional(),
}) satisfies z.ZodType<RecordedRow>;

const gapLine = z.object({ leftOut: z.number().int().positive() });

/** What came of one line. `control`: a frame without an order. `gap`: rows that were left out. */
type Came =
  | Reduction['result']
  | 'unreadable'
  | 'foreign'
  | 'unacknowledged'
  | 'withheld'
  | 'control'
  | 'gap'
  | 'not_a_line';

export interface Replayed {
  readonly came: Came;
  /** ISO 8601. */
  readonly at?: string;
  readonly stream?: string;
  readonly accountId?: string;
  readonly orderId?: string;
  readonly cause?: string;
  readonly status?: string;
  readonly revision?: number;
  readonly changed?: readonly string[];
  /** The order ought to be read again. */
  readonly doubt?: string;
  readonly detail?: string;
}

/**
 * Plays a recording through the decoder and the reducer, line by line.
 *
 * No order is known at its beginning, so revisions are those of the recording. A confirmed read
 * overrules the revision in doubt, and no later one.
 */
export class ReplayedRecording {
  readonly heads = new Map<string, Head>();
  /** The revision that the order's last doubt was about: a confirmed read answers it. */
  private readonly doubted = new Map<string, number>();
  private readonly venue: Venue;

  constructor(venue: Venue) {
    this.venue = venue;
  }

  play(text: string): Replayed {
    const line = jsonOrUndefined(text);
    const gap = gapLine.safeParse(line);
    if (gap.success) return { came: 'gap', detail: `${gap.data.leftOut} rows were left out here` };
    const read = rowLine.safeParse(line);
    if (!read.success) return { came: 'not_a_line', detail: 'it is not a line of a recording' };
    const row = read.data;
    const { stream, accountId, cause } = row;
    const about = { at: formatInstant(row.observedAtMs), stream, cause, ...(accountId && { accountId }) };
    return { ...about, ...(row.withheld ? { came: 'withheld' } : this.row(row)) };
  }

  private row(row: z.infer<typeof rowLine>): Replayed {
    if (row.cause !== 'stream') return this.order(jsonOrUndefined(row.text, parseJson), row, row.accountId);
    const frame = streamOf(this.venue, row.stream).protocol.read(row.text);
    if (frame.kind === 'event') return this.order(frame.row, row, row.accountId ?? frame.accountId);
    return frame.kind === 'unreadable'
      ? { came: 'unreadable', detail: `${frame.reason}: ${frame.detail}` }
      : { came: 'control' };
  }

  private order(content: unknown, row: z.infer<typeof rowLine>, accountId = ''): Replayed {
    const { stream, cause, observedAtMs, sourceEpoch = 0, text } = row;
    const origin = { stream, cause, accountId, venue: this.venue, sourceEpoch, observedAtMs, receivedMs: 0 };
    const item = decodeOrder(content, { ...origin, bytes: text.length }, () => text);
    if (item.kind === 'order') return this.reduced(item, row.confirmed === true);
    const orderId = item.kind === 'foreign' ? undefined : item.orderId;
    return {
      came: item.kind,
      ...(orderId !== undefined && { orderId }),
      ...(item.kind === 'unreadable' && { detail: `${item.reason}: ${item.detail}` }),
    };
  }

  private reduced(item: Observation, isConfirmed: boolean): Replayed {
    const { orderId, status } = item.view;
    const key = orderKey(item.view.stream, orderId);
    const head = this.heads.get(key);
    const reduction = reduce(head, isConfirmed ? { ...item, overrules: this.doubted.get(key) } : item);
    const next = reduction.result === 'conflict' ? head : (reduction.head ?? head);
    if (next !== undefined) this.heads.set(key, next);
    if (reduction.result !== 'conflict' && reduction.doubt !== undefined) this.doubted.set(key, next?.revision ?? 0);
    const about = { came: reduction.result, orderId, status, revision: next?.revision };
    return present(
      reduction.result === 'conflict'
        ? { ...about, detail: `${reduction.reason}: ${reduction.detail}` }
        : {
            ...about,
            changed: reduction.result === 'applied' ? reduction.changed : undefined,
            doubt: reduction.doubt,
          },
    );
  }
}
