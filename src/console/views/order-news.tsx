import { useEffect, useState } from 'preact/hooks';
import type { OrderUpdate } from '../../../types/records.d.ts';
import { instrumentText } from '../parts/instrument-text.ts';
import { doubtText, sideText, statusText } from '../parts/words.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { amountText } from '../state/text/decimal-text.ts';

const watched = ['status', 'cumQty', 'working', 'certainty', 'pendingAction', 'conflict'];

/**
 * Said to readers of the screen, who do not see a row flash: what becomes of the chosen order, and
 * each order that gets in doubt. Nothing else: a market's every change would never be read to its
 * end.
 */
export function OrderNews({ state }: { readonly state: ConsoleState }) {
  const [news, setNews] = useState('');
  useEffect(
    () =>
      state.updates.add((update) => {
        const { stream, orderId, changed, order } = update;
        const isChosen = state.chosenOrder.peek() === `${stream}:${orderId}`;
        const isDoubt = order.certainty !== 'certain' && changed.includes('certainty');
        if (isDoubt || (isChosen && changed.some((field) => watched.includes(field)))) setNews(newsOf(update));
      }),
    [state],
  );
  return (
    <p class="unseen" role="status">
      {news}
    </p>
  );
}

function newsOf({ order }: OrderUpdate): string {
  const { side, instrument, status, cumQty, working } = order;
  const words = [
    `${sideText(side)} ${instrumentText(instrument)}: ${statusText(status)}`,
    `${amountText(cumQty)} of ${amountText(working.quantity)} filled`,
    doubtText(order),
  ];
  return words.filter((word) => word !== '').join(', ');
}
