import { useCommandList } from '../parts/use-command-list.ts';
import type { ConsoleState } from '../state/console-state.ts';
import type { ListedOrder } from '../state/orders/order-row.ts';
import { commandTable } from './command-table.tsx';

/** The commands about one order, if there are any. */
export function OrderCommands({
  state,
  order: { orderId },
}: {
  readonly state: ConsoleState;
  readonly order: ListedOrder;
}) {
  const { shown, again, more } = useCommandList(state, { order: orderId });
  if (shown.kind === 'failed')
    return (
      <p class="fault" role="alert">
        The commands about this order could not be read. {shown.why} <button onClick={again}>Read again</button>
      </p>
    );
  if (shown.kind === 'loading' || shown.rows.length === 0) return undefined;
  return (
    <>
      <h2>Commands</h2>
      <div class="panel commands">{commandTable(shown.rows, state, { ofOneOrder: true })}</div>
      {shown.next !== undefined && <button onClick={more}>Show older commands</button>}
    </>
  );
}
