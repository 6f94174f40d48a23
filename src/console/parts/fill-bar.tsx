import type { VNode } from 'preact';
import type { NormalisedOrder } from '../../../types/records.d.ts';
import { amountText, compareDecimals, moneyText, thousandthsOf } from '../state/text/decimal-text.ts';
import { sizeText } from './instrument-text.ts';

/**
 * The filled part of an order, as a bar with its amount. It is a part of the working quantity: an
 * order that was replaced has another one than the submitted. Of an order for money, the money is
 * a part of it. `amount`: how it is shown.
 */
export function fillBar(
  order: Pick<NormalisedOrder, 'cumQty' | 'working' | 'avgPrice' | 'notional'>,
  amount: VNode | string = amountText(order.cumQty),
): VNode {
  const { cumQty: filled, working, avgPrice, notional } = order;
  const { quantity } = working;
  const size = sizeText(order);
  const share =
    quantity === undefined ? thousandthsOf(moneyText(filled, avgPrice), notional) : thousandthsOf(filled, quantity);
  const isOver = quantity !== undefined && compareDecimals(filled, quantity) > 0;
  return (
    <span class="fill" title={`${filled} of ${size} filled`}>
      <span class="fill-track">
        <span class={share === 1000 && !isOver ? 'fill-done whole' : 'fill-done'} style={{ width: `${share / 10}%` }} />
      </span>
      <span class={isOver ? 'fill-text differs' : 'fill-text'}>
        {amount}
        <span class="fill-of"> / {size}</span>
      </span>
    </span>
  );
}
