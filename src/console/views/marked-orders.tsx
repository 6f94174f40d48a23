import { useMemo, useState } from 'preact/hooks';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { CommandNote } from '../parts/command-note.tsx';
import { useConsole } from '../parts/console.ts';
import { useKeys } from '../parts/keys.ts';
import { faultNote } from '../parts/notes.tsx';
import { orderFacts, orderText } from '../parts/order-text.tsx';
import { useValue } from '../parts/use-value.ts';
import { OrderCancels } from '../state/commands/order-cancels.ts';
import { keyOf, type ListedOrder } from '../state/orders/order-row.ts';
import { sentenceOf } from '../state/rest.ts';
import { plural } from '../state/text/word-text.ts';

interface MarkedProps {
  readonly orders: readonly ListedOrder[];
  readonly unmark: () => void;
}

/**
 * Cancels the marked orders after one question, and shows what became of each. It stands below the
 * table: above it, a first mark would move the rows away from the pointer.
 */
export function MarkedOrders({ orders, unmark }: MarkedProps) {
  const state = useConsole();
  const cancels = useMemo(() => new OrderCancels(state), []);
  const lines = useValue(cancels.lines);
  const [asked, setAsked] = useState<readonly ListedOrder[]>([]);
  const failed = lines.filter(({ answer }) => answer !== undefined && answer.kind !== 'ok');
  const ask = () => setAsked(orders);
  useKeys(orders.length === 0 ? {} : { cancel: ask, back: unmark });
  const run = async () => {
    unmark();
    void cancels.send(asked);
    // The button in focus goes with the marks.
    document.querySelector<HTMLElement>('.scroller')?.focus();
    return { kind: 'ok', status: 202, body: undefined } as const;
  };
  return (
    <div class="order-actions marked-orders">
      {orders.length > 0 && (
        <div class="actions">
          <button class="danger" onClick={ask}>
            Cancel {plural(orders.length, 'order')} …
          </button>
          <button onClick={unmark}>Unmark</button>
        </div>
      )}
      {lines.length > 0 && (
        <section class="cancels" aria-label="Cancels" tabindex={0}>
          {lines.map(({ order, answer }) => (
            <div key={keyOf(order)}>
              {answer === undefined ? (
                <p class="soft">Cancel of {orderText(order)}: on its way …</p>
              ) : answer.kind === 'ok' ? (
                <CommandNote command={answer.body} about={orderText(order)} />
              ) : (
                faultNote(`Not cancelled: ${orderText(order)}. ${sentenceOf(answer)}`)
              )}
            </div>
          ))}
        </section>
      )}
      {lines.length > 0 && (
        <div class="actions">
          {failed.length > 0 && (
            <button onClick={() => void cancels.send(failed.map(({ order }) => order))}>
              Try {plural(failed.length, 'order')} again
            </button>
          )}
          <button
            onClick={() => {
              cancels.lines.value = [];
            }}
          >
            Hide
          </button>
        </div>
      )}
      {asked.length > 0 && (
        <ActionDialog
          title={`Cancel ${plural(asked.length, 'order')}?`}
          text="The platform is asked to cancel each of them, in whatever state it is by then."
          label={`Cancel ${plural(asked.length, 'order')}`}
          danger
          asksReason={false}
          run={run}
          done={() => undefined}
          close={() => setAsked([])}
        >
          <ul class="marked-list" tabindex={0} aria-label="Orders">
            {asked.map((order) => (
              <li key={keyOf(order)}>{orderFacts(order)}</li>
            ))}
          </ul>
        </ActionDialog>
      )}
    </div>
  );
}
