import type { VNode } from 'preact';
import type { NormalisedOrder } from '../../../types/records.d.ts';
import { thousandthsOf } from '../state/text/decimal-text.ts';

/**
 * The filled part of an order, as a bar with its amount. It is a part of the working quantity: an
 * order that was replaced has another one than the submitted.
 */
export function fillBar({ cumQty: filled, working: { quantity } }: Pick<NormalisedOrder, 'cumQty' | 'working'>): VNode {
  const share = thousandthsOf(filled, quantity);
  return (
    <span class="fill" title={`${filled} of ${quantity} filled`}>
      <span class="fill-track">
        <span class={share === 1000 ? 'fill-done whole' : 'fill-done'} style={{ width: `${share / 10}%` }} />
      </span>
      <span class="fill-text">
        {filled}
        <span class="fill-of"> / {quantity}</span>
      </span>
    </span>
  );
}
