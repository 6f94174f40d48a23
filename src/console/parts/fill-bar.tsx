import type { VNode } from 'preact';
import type { NormalisedOrder } from '../../../types/records.d.ts';
import { amountText, compareDecimals, thousandthsOf } from '../state/text/decimal-text.ts';

/**
 * The filled part of an order, as a bar with its amount. It is a part of the working quantity: an
 * order that was replaced has another one than the submitted. `amount`: how it is shown.
 */
export function fillBar(
  { cumQty: filled, working: { quantity } }: Pick<NormalisedOrder, 'cumQty' | 'working'>,
  amount: VNode | string = amountText(filled),
): VNode {
  const share = thousandthsOf(filled, quantity);
  const isOver = compareDecimals(filled, quantity) > 0;
  return (
    <span class="fill" title={`${filled} of ${quantity} filled`}>
      <span class="fill-track">
        <span class={share === 1000 && !isOver ? 'fill-done whole' : 'fill-done'} style={{ width: `${share / 10}%` }} />
      </span>
      <span class={isOver ? 'fill-text differs' : 'fill-text'}>
        {amount}
        <span class="fill-of"> / {amountText(quantity)}</span>
      </span>
    </span>
  );
}
