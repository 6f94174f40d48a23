import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import type { Clock } from '../../runtime/clock.ts';
import type { Page } from '../../store/orders/order-reads.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { sendJsonText, sendProblem } from './send-answer.ts';

/**
 * A share of the event loop for work that may wait. However many tasks there are, together they
 * take at most `sliceMs` and one step more between two turns. Urgent work (a command's next step)
 * then waits for one slice, not for a page with five hundred rows, nor for twenty such pages at
 * once.
 */
export class LoopShare {
  private sliceEndsMs = Number.NEGATIVE_INFINITY;
  private nextTurn: Promise<void> | undefined;
  private readonly clock: Pick<Clock, 'monotonicMs' | 'turn'>;
  private readonly sliceMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'turn'>, options: { readonly sliceMs: number }) {
    this.clock = clock;
    this.sliceMs = options.sliceMs;
  }

  /** `step` for each item, in order. Rejects with a step's error. */
  async forEach<T>(items: Iterable<T>, step: (item: T) => void): Promise<void> {
    for (const item of items) {
      while (this.clock.monotonicMs() >= this.sliceEndsMs) await this.turn();
      step(item);
    }
  }

  /** All waiting tasks go on after the same turn, in the same slice. */
  private turn(): Promise<void> {
    this.nextTurn ??= this.clock.turn().then(() => {
      this.nextTurn = undefined;
      this.sliceEndsMs = this.clock.monotonicMs() + this.sliceMs;
    });
    return this.nextTurn;
  }
}

interface Asked {
  /** Names the list: another list's cursor is refused. */
  readonly list: string;
  /** As the caller gave it. */
  readonly filter: Readonly<Record<string, unknown>>;
  readonly cursor: string | undefined;
  /** What the answer says beside the page. */
  readonly beside?: object;
  /** The positions in this list's cursors. */
  readonly position: z.ZodType<readonly string[]>;
}

/** Makes pages' texts within a share of the event loop, however many are asked for. */
export class Pages {
  private readonly share: LoopShare;
  /**
   * Equal pages asked for at once share one read and its result (store/orders/turn-batch.ts). So
   * the answer is made once too, as bytes: a text would be measured and encoded for each reader. An
   * entry lives as long as its page.
   */
  private readonly made = new WeakMap<Page<unknown>, { readonly of: string; readonly bytes: Promise<Buffer> }>();

  constructor(share: LoopShare) {
    this.share = share;
  }

  /**
   * Sends one page of a list, with the next one's cursor. A cursor belongs to its list and its
   * filters: with others it would silently skip rows.
   */
  async send<T>(
    { reply }: { readonly reply: FastifyReply },
    { list, filter, cursor, position, beside = {} }: Asked,
    read: (after: readonly string[] | undefined) => Promise<Page<T>>,
    textOf: (item: T) => string,
  ): Promise<FastifyReply> {
    const of = `${list} ${JSON.stringify(filter)}`;
    const after = cursor === undefined ? undefined : decodeCursor(of, cursor, position);
    if (cursor !== undefined && after === undefined) return sendProblem(reply, 'INVALID_CURSOR');
    const page = await read(after);
    const known = this.made.get(page);
    if (known?.of === of) return sendJsonText(reply, await known.bytes);
    const next = page.next && encodeCursor(of, page.next);
    const bytes = this.encode(page, textOf, { next, ...beside });
    this.made.set(page, { of, bytes });
    return sendJsonText(reply, await bytes);
  }

  /**
   * Texts are added with `+`, not joined: V8 then copies them once, when they are written, and not
   * also into the list's text.
   */
  private async encode<T>(
    { items, unreadable }: Page<T>,
    textOf: (item: T) => string,
    beside: object,
  ): Promise<Buffer> {
    let text = '{"items":[';
    let comma = '';
    await this.share.forEach(items, (item) => {
      text += comma + textOf(item);
      comma = ',';
    });
    const rest = JSON.stringify({ unreadable, ...beside }).slice(1);
    return Buffer.from(rest === '}' ? `${text}]}` : `${text}],${rest}`);
  }
}
