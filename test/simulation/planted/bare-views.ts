import type { Random } from '../../../src/runtime/random.ts';
import type { ExchangeOrder } from '../../../src/sandbox/exchange/exchange-order.ts';
import { instantText } from '../../../src/sandbox/exchange/wire-text.ts';
import { happens } from '../../../src/sandbox/market/instruments.ts';

/**
 * Views of orders that leave out the reference of whoever placed them, some of the time, or have a
 * coarse clock. Of dice of its own: a run without them is as it would be.
 */
export class BareViews {
  /** Of events and answers. */
  share = 0;
  /** `updatedAt` ends at the second, so that two changes may have one instant. */
  coarse = false;
  /** Rows have the legs of their orders, which the sandbox leaves out. */
  withLegs = false;
  /** Until when the platform's clock was ahead, in its true time, and by how many milliseconds. */
  setBack: { readonly untilMs: number; readonly aheadMs: number } | undefined;
  /** By order and the exact `updatedAt` of a row: its legs. */
  private readonly legsAt = new Map<string, NonNullable<ExchangeOrder['terms']['legs']>>();
  private readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  /** Most runs never see one; in some nearly every view is. */
  begin(): void {
    this.share = happens(this.random, 0.15) ? this.random.next() : 0;
  }

  /** The event or answer as it is sent. */
  of(text: string): string {
    const shown = this.timed(text);
    if (this.share === 0 || !happens(this.random, this.share)) return shown;
    return shown.replace(/"(?:clOrdId|clientOrderRef)":"tm-[^"]*",/g, '');
  }

  /** The text by the platform's clock. */
  timed(text: string): string {
    const shown = this.ahead(this.withLegs ? this.legged(text) : text);
    return this.coarse ? shown.replace(/("updated(?:At|_at)":"[^".]*)\.\d+Z"/g, '$1Z"') : shown;
  }

  /** Of account orders alone: versions order the others. */
  private ahead(text: string): string {
    if (this.setBack === undefined) return text;
    const { untilMs, aheadMs } = this.setBack;
    return text.replace(
      /(\{"ordId":[^{}]*?"updatedAt":")([^"]+)(\d{3}Z)/g,
      (row, start: string, ms: string, us: string) => {
        const atMs = Date.parse(`${ms}Z`);
        return atMs < untilMs ? `${start}${new Date(atMs + aheadMs).toISOString().slice(0, -1)}${us}` : row;
      },
    );
  }

  /** An order has changed: rows of this instant have these legs. */
  changed({ terms, updatedAt }: ExchangeOrder): void {
    if (this.withLegs && terms.legs !== undefined)
      this.legsAt.set(`${terms.orderId} ${instantText(updatedAt)}`, terms.legs);
  }

  /** What the newest row of the order shows; undefined: it shows no legs. */
  legsOf({ terms, updatedAt }: ExchangeOrder): ExchangeOrder['terms']['legs'] {
    return this.legsAt.get(`${terms.orderId} ${instantText(updatedAt)}`);
  }

  private legged(text: string): string {
    return text.replace(
      /\{"ordId":"([^"]+)",([^{}]*?"updatedAt":"([^"]+)")/g,
      (row, orderId: string, rest: string, at: string) => {
        const legs = this.legsAt.get(`${orderId} ${at}`);
        return legs === undefined ? row : `{"ordId":"${orderId}","legs":${JSON.stringify(legs)},${rest}`;
      },
    );
  }
}
