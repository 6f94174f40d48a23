import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { NewTerms } from '../../contract/replace-terms.ts';
import type { CommandAnswer } from '../../contract/rest-answers.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { CommandNote } from '../parts/command-note.tsx';
import { useConsole } from '../parts/console.ts';
import { useKeys } from '../parts/keys.ts';
import { orderFacts, orderText } from '../parts/order-text.tsx';
import { fieldText } from '../parts/words.ts';
import { changedTerms, OrderAction, orderActions } from '../state/commands/order-actions.ts';
import type { ListedOrder } from '../state/orders/order-row.ts';
import { type Change, changesBetween } from '../state/orders/version-ladder.ts';
import type { Answer } from '../state/rest.ts';
import { ReplaceFields } from './replace-fields.tsx';
import { Preview, usePreview } from './ticket-preview.tsx';

interface OrderActionsProps {
  /** Undefined: none is chosen. */
  readonly order: ListedOrder | undefined;
  /** By its keys alone: these first bring it into view. */
  readonly reveal?: () => void;
}

type Kind = 'cancel' | 'replace';

interface Asked {
  readonly kind: Kind;
  readonly order: ListedOrder;
}

/**
 * Cancel and replace for one order, within this reader's rights, and the state of the command they
 * led to.
 */
export function OrderActions({ order, reveal }: OrderActionsProps) {
  const { session } = useConsole();
  // With its order: another one may be chosen, or this one leave the list, before the answer.
  const [asked, setAsked] = useState<Asked>();
  const [note, setNote] = useState<VNode>();
  const [refused, setRefused] = useState<string>();
  const actions = order === undefined ? [] : orderActions(session, order);
  const ask = (kind: Kind) =>
    order &&
    (() => {
      reveal?.();
      const may = actions.includes(kind);
      setRefused(may ? undefined : order.orderId);
      if (may) setAsked({ kind, order });
    });
  useKeys({ cancel: ask('cancel'), replace: ask('replace') });
  const done = (command: CommandAnswer, seen: ListedOrder) =>
    setNote(<CommandNote key={command.commandId} command={command} about={orderText(seen)} />);
  return (
    <div class="order-actions">
      {actions.length > 0 && reveal === undefined && (
        <div class="actions">
          {actions.includes('replace') && <button onClick={ask('replace')}>Replace …</button>}
          <button class="danger" onClick={ask('cancel')}>
            Cancel order …
          </button>
        </div>
      )}
      {refused === order?.orderId && refused !== undefined && (
        <p role="status">{actions.length > 0 ? notReplaced : notHere}</p>
      )}
      {note}
      {asked !== undefined && <OrderActionDialog {...asked} done={done} close={() => setAsked(undefined)} />}
    </div>
  );
}

const notReplaced = 'This order cannot be replaced.';
const notHere = 'Commands are off here, or this token may not send them.';

interface DialogProps extends Asked {
  readonly done: (command: CommandAnswer, seen: ListedOrder) => void;
  readonly close: () => void;
}

/**
 * One action, made when the dialog opens: it keeps its key and the order as the reader saw it,
 * whatever comes meanwhile.
 */
function OrderActionDialog({ order, kind, done, close }: DialogProps) {
  const state = useConsole();
  const action = useMemo(() => new OrderAction(state, order), []);
  const [wanted, setWanted] = useState<NewTerms>({});
  const [meanwhile, setMeanwhile] = useState<readonly Change[]>([]);
  const { seen } = action;
  const question = useMemo(() => action.questionOf(wanted), [seen, wanted]);
  const preview = usePreview(question, kind === 'cancel');
  const run = async (): Promise<Answer<CommandAnswer>> => {
    const answer = await (kind === 'cancel' ? action.cancel() : action.replace(wanted));
    if (isChanged(answer)) {
      const before = await action.lookAgain();
      if (before !== undefined) setMeanwhile(changesBetween(before.order, action.seen.order));
    }
    return answer;
  };
  return (
    <ActionDialog
      title={kind === 'cancel' ? 'Cancel this order?' : 'Replace the terms of this order'}
      text={
        <span class="action-about">
          {orderFacts(seen)}, revision {seen.revision}
        </span>
      }
      label={kind === 'cancel' ? 'Cancel the order' : 'Replace'}
      danger={kind === 'cancel'}
      asksReason={false}
      ready={kind === 'cancel' || changedTerms(seen.order, wanted).length > 0}
      explain={(answer) =>
        isChanged(answer) ? 'The order has changed since you opened this, so nothing was sent.' : undefined
      }
      run={run}
      done={({ body }) => done(body, seen)}
      close={close}
    >
      {meanwhile.length > 0 && meanwhileList(meanwhile)}
      {kind === 'replace' && (
        <>
          <ReplaceFields order={seen.order} wanted={wanted} change={setWanted} />
          <Preview kind="replace" {...preview} />
        </>
      )}
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
