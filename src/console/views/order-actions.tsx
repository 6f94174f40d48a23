import { useMemo, useState } from 'preact/hooks';
import type { CommandAnswer } from '../../contract/rest-answers.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { CommandNote } from '../parts/command-note.tsx';
import { instrumentText } from '../parts/instrument-text.ts';
import { fieldText, sideText, statusText } from '../parts/words.ts';
import { changedTerms, type NewTerms, OrderAction, orderActions } from '../state/commands/order-actions.ts';
import type { ConsoleState } from '../state/console-state.ts';
import type { ListedOrder } from '../state/orders/order-row.ts';
import { type Change, changesBetween } from '../state/orders/version-ladder.ts';
import type { Answer } from '../state/rest.ts';
import { ReplaceFields } from './replace-fields.tsx';

interface OrderActionsProps {
  readonly state: ConsoleState;
  readonly order: ListedOrder;
}

/**
 * Cancel and replace for one order, within this reader's rights, and the state of the command they
 * led to.
 */
export function OrderActions({ state, order }: OrderActionsProps) {
  const [asked, setAsked] = useState<'cancel' | 'replace' | undefined>(undefined);
  const [sent, setSent] = useState<CommandAnswer | undefined>(undefined);
  const actions = orderActions(state.session, order);
  const close = () => setAsked(undefined);
  return (
    <div class="order-actions">
      {actions.length > 0 && (
        <div class="actions">
          {actions.includes('replace') && <button onClick={() => setAsked('replace')}>Replace …</button>}
          <button class="danger" onClick={() => setAsked('cancel')}>
            Cancel order …
          </button>
        </div>
      )}
      {sent !== undefined && <CommandNote state={state} command={sent} />}
      {asked !== undefined && (
        <OrderActionDialog state={state} order={order} kind={asked} done={setSent} close={close} />
      )}
    </div>
  );
}

interface DialogProps extends OrderActionsProps {
  readonly kind: 'cancel' | 'replace';
  readonly done: (command: CommandAnswer) => void;
  readonly close: () => void;
}

/**
 * One action, made when the dialog opens: it keeps its key and the order as the reader saw it,
 * whatever comes meanwhile.
 */
function OrderActionDialog({ state, order, kind, done, close }: DialogProps) {
  const action = useMemo(() => new OrderAction(state, order), [state]);
  const [wanted, setWanted] = useState<NewTerms>({});
  const [meanwhile, setMeanwhile] = useState<readonly Change[]>([]);
  const { seen } = action;
  const run = async (): Promise<Answer<CommandAnswer>> => {
    const answer = await (kind === 'cancel' ? action.cancel() : action.replace(wanted));
    if (isChanged(answer)) {
      const before = await action.lookAgain();
      if (before !== undefined) setMeanwhile(changesBetween(before.order, action.seen.order));
    }
    return answer;
  };
  const what = `${sideText(seen.order.side)} ${seen.order.working.quantity} ${instrumentText(seen.order.instrument)}, ${statusText(seen.order.status)}, revision ${seen.revision}`;
  return (
    <ActionDialog
      title={kind === 'cancel' ? 'Cancel this order?' : 'Replace the terms of this order'}
      text={<span class="action-about">{what}</span>}
      label={kind === 'cancel' ? 'Cancel the order' : 'Replace'}
      danger={kind === 'cancel'}
      asksReason={false}
      ready={kind === 'cancel' || changedTerms(seen.order, wanted).length > 0}
      explain={(answer: Answer<unknown>) =>
        isChanged(answer) ? 'The order has changed since you opened this, so nothing was sent.' : undefined
      }
      run={run}
      done={({ body }: { readonly body: unknown }) => done(body as CommandAnswer)}
      close={close}
    >
      {meanwhile.length > 0 && meanwhileList(meanwhile)}
      {kind === 'replace' && <ReplaceFields order={seen.order} wanted={wanted} change={setWanted} />}
    </ActionDialog>
  );
}

function isChanged(answer: Answer<unknown>): boolean {
  return answer.kind === 'problem' && answer.status === 412;
}

function meanwhileList(changes: readonly Change[]) {
  return (
    <div>
      <p class="soft">Changed meanwhile; look again before you decide:</p>
      <ul>
        {changes.map(({ field, from, to }) => (
          <li>
            {fieldText(field)} <s>{from ?? 'none'}</s> → <b>{to ?? 'none'}</b>
          </li>
        ))}
      </ul>
    </div>
  );
}
