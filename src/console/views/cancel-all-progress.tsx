import type { VNode } from 'preact';
import type { CancelAllDocument } from '../../contract/rest-answers.ts';
import { commandStateText } from '../parts/command-words.ts';
import { useConsole } from '../parts/console.ts';
import { commandLink, orderLink } from '../parts/link.tsx';
import { faultNote } from '../parts/notes.tsx';
import { Table, unseen } from '../parts/table.tsx';
import { Time } from '../parts/time-text.tsx';
import { useValue } from '../parts/use-value.ts';
import { useWhileShown } from '../parts/use-while-shown.ts';
import { scopeText, statusText } from '../parts/words.ts';
import type { CancelAllRun, SweptLine } from '../state/commands/cancel-all-run.ts';

interface ProgressProps {
  readonly run: CancelAllRun;
}

/** More lines would not help a reader; the counts have them all. */
const mostLines = 100;

/** How far a cancel-all is: the counts, and each order for a person to look at. */
export function CancelAllProgress({ run }: ProgressProps) {
  const state = useConsole();
  const answer = useValue(run.answer);
  const fault = useValue(run.fault);
  useValue(run.steps);
  useWhileShown((signal) => run.follow(signal), [run]);
  const lines = run.lines();
  return (
    <section class="panel panel-body cancel-all" aria-labelledby="cancel-all-title">
      <div class="screen-head">
        <h2 id="cancel-all-title">
          Cancel-all of {scopeText(run.wish.accountId)}, <Time at={run.atMs} />
        </h2>
        <button
          class="quiet"
          onClick={() => {
            state.cancelAll.value = undefined;
          }}
        >
          Dismiss
        </button>
      </div>
      {fault !== undefined && faultNote(`${fault} It is asked again.`)}
      {answer === undefined ? (
        <p role="status">The accounts are read and the cancels are sent …</p>
      ) : (
        summaryOf(answer, lines)
      )}
      {answer !== undefined && exceptionsOf(answer)} {ordersOf(lines)}
    </section>
  );
}

function summaryOf({ open, inForce }: CancelAllDocument, lines: readonly SweptLine[]): VNode {
  const count = (state: SweptLine['state']) => lines.filter((line) => line.state === state).length;
  if (lines.length === 0 && !open) return <p role="status">There was no open order.</p>;
  const parts = [
    `${count('done')} of ${lines.length} over`,
    `${count('under way')} under way`,
    `${count('not cancelled')} not cancelled`,
  ];
  return (
    <p role="status">
      <b>{parts.join(', ')}.</b>
      {open && ' Orders may be open that have no cancel yet.'}
      {inForce && ' It stays in force: orders that appear later are cancelled too.'}
    </p>
  );
}

function exceptionsOf({ places, unread, declined, unanswered = [] }: CancelAllDocument): VNode | undefined {
  // One whose order landed has a line among the orders, and one that is resolved brings none.
  const awaited = places.filter(({ orderId, state }) => orderId === undefined && isAwaited(state));
  if (awaited.length + unread.length + declined.length + unanswered.length === 0) return undefined;
  return (
    <ul class="exceptions">
      {unanswered.slice(0, mostLines).map(({ instance, code }) => (
        <li>
          <b>{instance}</b>, another process, gave no answer ({code}). Orders may be open on its accounts.
        </li>
      ))}
      {unread.slice(0, mostLines).map(({ accountId, stream, detail }) => (
        <li>
          <b>{accountId}</b> ({stream}) was not read: {detail}. Orders may be open there.
        </li>
      ))}
      {declined.slice(0, mostLines).map(({ accountId, detail }) => (
        <li>
          <b>{accountId}</b>: nothing was cancelled: {detail}
        </li>
      ))}
      {awaited.slice(0, mostLines).map(({ accountId, commandId, state, result }) => (
        <li>
          <b>{accountId}</b>: an order may still appear from {commandLink(commandId, 'a place')} (
          {commandStateText(state ?? result)})
        </li>
      ))}
    </ul>
  );
}

function isAwaited(state: CancelAllDocument['places'][number]['state']): boolean {
  return state === undefined || ['open', 'unknown', 'accepted', 'conflict'].includes(state);
}

function ordersOf(lines: readonly SweptLine[]): VNode | undefined {
  if (lines.length === 0) return undefined;
  return (
    <>
      <Table head={['Account', 'Order', 'Cancel', unseen('Command')]}>
        {lines.slice(0, mostLines).map(({ order, state, word, why, status }) => (
          <tr key={order.orderId}>
            <td class="account">{order.accountId}</td>
            <td>{orderLink(order)}</td>
            <td>
              <span class={`swept ${state === 'not cancelled' ? 'not-cancelled' : state}`}>
                {status === undefined ? wordText(word) : statusText(status)}
              </span>{' '}
              {state !== 'done' && <span class="soft">{why}</span>}
            </td>
            <td>{order.commandId !== undefined && commandLink(order.commandId, 'all steps')}</td>
          </tr>
        ))}
      </Table>
      {lines.length > mostLines && (
        <p class="hint">{lines.length - mostLines} more orders are counted above and not listed.</p>
      )}
    </>
  );
}

/** The state of a cancel, or the code for the lack of one. */
function wordText(word: string): string {
  if (word === 'UNDER_WAY') return 'under way';
  return /^[A-Z_]+$/.test(word) ? 'not cancelled' : commandStateText(word);
}
