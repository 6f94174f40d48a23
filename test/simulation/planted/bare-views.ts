import type { Random } from '../../../src/runtime/random.ts';
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
    return this.coarse ? text.replace(/("updatedAt":"[^".]*)\.\d+Z"/g, '$1Z"') : text;
  }
}
