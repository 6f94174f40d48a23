import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Stream } from '../../../types/records.d.ts';
import { cancelPath } from '../../contract/order-path.ts';
import type { CommandAnswer, CommandHistory } from '../../contract/rest-answers.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { commandStateText } from '../parts/command-words.ts';
import { useConsole } from '../parts/console.ts';
import { Link, useGo } from '../parts/link.tsx';
import { orderFacts } from '../parts/order-text.tsx';
import { addressOf, commandAddress } from '../state/address.ts';
import { actionsOf, resolutions } from '../state/commands/command-actions.ts';
import { KeyedSend } from '../state/commands/keyed-send.ts';
import { fieldsOf } from '../state/commands/ticket-body.ts';
import { keyOf } from '../state/orders/order-row.ts';
import { type Answer, type Ok, sentenceOf } from '../state/rest.ts';
import { plural } from '../state/text/word-text.ts';

interface ActionBarProps {
  readonly command: CommandHistory;
  /** Something was done: the page has to read again. */
  readonly done: () => void;
  /** A sentence about what an action did. */
  readonly say: (text: ComponentChildren) => void;
}

interface ProbeReport {
  readonly probes: number;
  readonly resolved: readonly { readonly commandId: string; readonly result: string }[];
}

/** This reader's actions on the command as it is now. */
export function CommandActionBar({ command, done, say }: ActionBarProps) {
  const state = useConsole();
  const [open, setOpen] = useState<'resolve' | 'cancel'>();
  const [asking, setAsking] = useState(false);
  const go = useGo();
  const actions = actionsOf(command, state.session);
  const probe = async () => {
    setAsking(true);
    say('Asking the platform …');
    const query = new URLSearchParams({ accountId: command.accountId });
    const answer = await state.rest.send<ProbeReport>('POST', `/v1/probe?${query}`);
    setAsking(false);
    say(probedText(answer, command.commandId));
    done();
  };
  const close = () => setOpen(undefined);
  const terms = actions.another ? fieldsOf(command) : undefined;
  if (!actions.probe && !actions.resolve && !actions.cancel && terms === undefined && open === undefined) return null;
  return (
    <div class="actions" role="group" aria-label="Actions">
      {actions.probe && (
        <button class="main" disabled={asking} onClick={probe}>
          Ask the platform now
        </button>
      )}
      {actions.resolve && <button onClick={() => setOpen('resolve')}>Resolve by hand</button>}
      {actions.cancel && (
        <button class="danger" onClick={() => setOpen('cancel')}>
          Cancel the order
        </button>
      )}
      {terms !== undefined && (
        <button
          title="Opens the ticket with these terms. Nothing is sent."
          onClick={() => {
            state.openTicket(terms);
            go(addressOf('ticket'));
          }}
        >
          Place another
        </button>
      )}
      {open === 'resolve' && <ResolveDialog command={command} close={close} done={done} say={say} />}
      {open === 'cancel' && command.orderId !== undefined && (
        <CancelDialog
          order={{ stream: command.stream, orderId: command.orderId, accountId: command.accountId }}
          close={close}
          done={(commandId) => go(commandAddress(commandId))}
        />
      )}
    </div>
  );
}

function probedText(answer: Answer<ProbeReport>, commandId: string): string {
  if (answer.kind !== 'ok') return sentenceOf(answer);
  const resolved = answer.body.resolved.find((each) => each.commandId === commandId);
  const asked = `The platform was asked: ${plural(answer.body.probes, 'complete read')}.`;
  return resolved === undefined
    ? `${asked} It brought no proof of a result.`
    : `${asked} The result is: ${commandStateText(resolved.result)}.`;
}

function ResolveDialog({ command, close, done, say }: ActionBarProps & { readonly close: () => void }) {
  const { rest } = useConsole();
  const [result, setResult] = useState('');
  const run = (reason: string) =>
    rest.send('POST', `/v1/commands/${command.commandId}/resolution`, { body: { result, reason } });
  const resolved = (answer: Ok<unknown>) => {
    // With four eyes the answer is a request, not the command.
    if ('approval' in (answer.body as Partial<CommandAnswer> & { approval?: unknown }))
      say(
        <>
          It is not resolved yet: a second person has to approve it. <Link to={addressOf('risk')}>Approvals</Link>
        </>,
      );
    else say('It is resolved by your word.');
    done();
  };
  return (
    <ActionDialog
      title="Resolve by hand"
      text="Say what became of it only by the word of a source that knows, such as the support of the platform or the venue. It is kept with your name and your reason."
      label="Resolve"
      ready={result !== ''}
      run={run}
      done={resolved}
      close={close}
    >
      <label>
        Result
        <select required value={result} onChange={(event) => setResult(event.currentTarget.value)}>
          <option value="">Choose …</option>
          {resolutions(command.kind).map(([value, words]) => (
            <option value={value}>{words}</option>
          ))}
        </select>
      </label>
    </ActionDialog>
  );
}

interface CancelProps {
  readonly order: { readonly stream: Stream; readonly orderId: string; readonly accountId: string };
  readonly close: () => void;
  /** With the cancel's id. */
  readonly done: (commandId: string) => void;
}

/** Asks once more, then cancels the order of a command, in whatever state it is by then. */
function CancelDialog({ order, close, done }: CancelProps) {
  const state = useConsole();
  const keyed = useMemo(() => new KeyedSend<CommandAnswer>(state), []);
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
      run={() => keyed.send('DELETE', cancelPath(order))}
      done={({ body }) => done(body.commandId)}
      close={close}
    />
  );
}
