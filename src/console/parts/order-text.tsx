import type { VNode } from 'preact';
import type { Instrument, NormalisedOrder } from '../../../types/records.d.ts';
import { directionOf, type ListedOrder } from '../state/orders/order-row.ts';
import { amountText, compareDecimals, moneyText, thousandthsOf } from '../state/text/decimal-text.ts';
import { joined } from '../state/text/word-text.ts';
import { sideText, statusText } from './words.ts';

/** In the colour of its direction. */
export function sideMark(side: string, words = sideText(side)): VNode {
  return <span class={`side ${directionOf(side)}`}>{words}</span>;
}

/** An instrument in one line: `AAPL`, `RAIN-26 YES`, `SPX, 2 legs`. */
export function instrumentText(instrument: Instrument): string {
  const { outcome } = instrument;
  return `${instrumentParts(instrument).join('')}${outcome === undefined ? '' : ` ${outcome}`}`;
}

/** The working quantity, or the amount of money: `100`, `250.00 USD`. */
export function sizeText({ working: { quantity }, notional }: Pick<NormalisedOrder, 'working' | 'notional'>): string {
  return quantity === undefined && notional !== undefined ? `${amountText(notional, 2)} USD` : amountText(quantity);
}

/** C or P and the strike of a contract. */
const endLength = 9;

/**
 * Its name without an outcome, in two parts: a narrow place may cut the first alone. The end tells
 * like contracts apart: a long symbol's last letters, the number of legs. The platform lists an
 * option with one leg under its underlying, so there the leg is the instrument.
 */
export function instrumentParts({ symbol, legs = [] }: Instrument): readonly [start: string, end: string] {
  const [only] = legs;
  if (legs.length > 1) return [symbol, `, ${legs.length} legs`];
  const name = only?.symbol ?? symbol;
  const cut = Math.max(name.length - endLength, Math.ceil(name.length / 2));
  return [name.slice(0, cut), name.slice(cut)];
}

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

/** The order in a few words. */
export function orderText({ order }: Pick<ListedOrder, 'order'>): string {
  return `${sideText(order.side)} ${sizeText(order)} ${instrumentText(order.instrument)}`;
}

/** All that a decision about it needs: `buy 100 KO at 64.05, part filled, 40 filled, ACC-1`. */
export function orderFacts(listed: ListedOrder): string {
  const { order, accountId } = listed;
  const { price = order.price } = order.working;
  const terms = [
    orderText(listed),
    price && `at ${amountText(price)}`,
    order.stopPrice && `stop ${amountText(order.stopPrice)}`,
  ];
  return [joined(terms, ' '), statusText(order.status), `${amountText(order.cumQty)} filled`, accountId].join(', ');
}
