import { useMemo } from 'preact/hooks';
import type { Stream } from '../../../types/records.d.ts';
import { cancelPath } from '../../contract/order-path.ts';
import type { CommandAnswer } from '../../contract/rest-answers.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { KeyedSend } from '../state/commands/keyed-send.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { keyOf } from '../state/orders/order-row.ts';
import { orderFacts } from './order-actions.tsx';

interface CancelProps {
  readonly state: ConsoleState;
  readonly order: { readonly stream: Stream; readonly orderId: string; readonly accountId: string };
  readonly close: () => void;
  /** With the cancel's id. */
  readonly done: (commandId: string) => void;
}

/** Asks once more, then cancels the order of a command, in whatever state it is by then. */
export function CancelDialog({ state, order, close, done }: CancelProps) {
  const keyed = useMemo(() => new KeyedSend<CommandAnswer>(state), [state]);
  const { orderId, accountId } = order;
  const known = state.orders.rows.get(keyOf(order));
  return (
    <ActionDialog
      title="Cancel the order"
      text={
        <>
          The platform is asked to cancel <span class="id">{orderId}</span> on account {accountId}
          {known && <>: {orderFacts(known)}</>}. Its page shows what became of that.
        </>
      }
      label="Cancel the order"
      danger
      asksReason={false}
      run={() => keyed.send({ method: 'DELETE', path: cancelPath(order) })}
      done={({ body }) => done(body.commandId)}
      close={close}
    />
  );
}
