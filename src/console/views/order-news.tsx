import { useState } from 'preact/hooks';
import type { NormalisedOrder } from '../../../types/records.d.ts';
import { instrumentText, sizeText } from '../parts/instrument-text.ts';
import { useWhileShown } from '../parts/use-while-shown.ts';
import { doubtText, sideText, statusText } from '../parts/words.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { keyOf } from '../state/orders/order-row.ts';
import { amountText } from '../state/text/decimal-text.ts';

/**
 * Said to readers of the screen, who do not see a row flash: what becomes of the chosen order, and
 * each order that gets in doubt. Nothing else: a market's every change would never be read to its
 * end.
 */
export function OrderNews({ state }: { readonly state: ConsoleState }) {
  const [news, setNews] = useState('');
  useWhileShown(
    (signal) =>
      state.updates.add((update) => {
        const { changed, order } = update;
        const isDoubt = order.certainty !== 'certain' && changed.includes('certainty');
        // Words that stay the same are not said again.
        if (isDoubt || state.chosenOrder.peek() === keyOf(update)) setNews(newsOf(order));
      }, signal),
    [state],
  );
  return (
    <p class="unseen" role="status">
      {news}
    </p>
  );
}

function newsOf(order: NormalisedOrder): string {
  const { side, instrument, status, cumQty } = order;
  return `${sideText(side)} ${instrumentText(instrument)}: ${statusText(status)}, ${amountText(cumQty)} of ${sizeText(order)} filled. ${doubtText(order)}`;
}
