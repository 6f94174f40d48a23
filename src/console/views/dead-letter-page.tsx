import type { ComponentChildren, VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { DeadLetterRowDocument } from '../../contract/dead-letter-bodies.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { useConsole } from '../parts/console.ts';
import { type Fact, Facts } from '../parts/facts.tsx';
import { Link, orderLink } from '../parts/link.tsx';
import { aloneNote, readBadge, staleNote } from '../parts/notes.tsx';
import { Time } from '../parts/time-text.tsx';
import { usePolled } from '../parts/use-while-shown.ts';
import { addressOf, type Place } from '../state/address.ts';
import { polledAt } from '../state/polled.ts';
import { visibleText } from '../state/text/visible-text.ts';
import { actionNames, type JobAction } from './dead-letter-jobs.tsx';

const isOpen = ({ retry }: DeadLetterRowDocument) => retry !== undefined && retry.result === undefined;

/** One dead letter, with the message as it came. */
export function DeadLetterPage({ params: { rowId = '' } }: Place) {
  const state = useConsole();
  const row = useMemo(() => {
    const everyMs = (value: DeadLetterRowDocument | undefined) => (value !== undefined && isOpen(value) ? 500 : 15_000);
    return polledAt<DeadLetterRowDocument>(state, `/v1/dead-letters/${rowId}`, everyMs);
  }, [rowId]);
  const shown = usePolled(row);
  const [action, setAction] = useState<JobAction>();
  const { value } = shown;
  if (value === undefined) return aloneNote('status', shown.fault ?? 'Reading the row …');
  const mayAct = state.session.may('ops:write') && value.dealtAt === undefined;
  const nameless = value.orderId === undefined || value.accountId === undefined;
  return (
    <article class="screen">
      <p class="crumb">
        <Link to={addressOf('deadLetters')}>Dead letters</Link> / {rowId}
      </p>
      <header class="screen-head">
        <h1>Row {rowId}</h1>
        {mayAct && (
          <div class="actions">
            <button
              disabled={nameless || isOpen(value)}
              title={nameless ? 'It names no order that could be read again' : undefined}
              onClick={() => setAction('retry')}
            >
              Retry
            </button>
            <button class="danger" onClick={() => setAction('discard')}>
              Discard
            </button>
          </div>
        )}
      </header>
      {staleNote(shown)} {factsOf(value)}
      <h2>The message as it came</h2>
      <pre class="raw" tabindex={0} aria-label="The message as it came">
        {rawText(value.raw)}
      </pre>
      {action !== undefined && (
        <ActionDialog
          title={`${actionNames[action]} row ${rowId}`}
          text={
            action === 'retry'
              ? 'Its order is read again from the platform; the old message is never used.'
              : 'It was checked and needs no action. It is kept, and no longer listed.'
          }
          label={actionNames[action]}
          danger={action === 'discard'}
          run={`/v1/dead-letters/${rowId}/${action}`}
          done={() => row.again()}
          close={() => setAction(undefined)}
        />
      )}
    </article>
  );
}

function factsOf(row: DeadLetterRowDocument): VNode {
  const { stream, accountId, orderId, reason, detail, observedAt, dealtAt, retry } = row;
  const facts: readonly Fact[] = [
    [
      'Reason',
      <>
        <b>{reason}</b> <span class="outside">{detail}</span>
      </>,
    ],
    [
      'Account',
      accountId === undefined ? (
        'none that could be read'
      ) : (
        <Link to={addressOf('accounts', { account: accountId })}>{accountId}</Link>
      ),
    ],
    ['Stream', stream],
    ['Order', orderId === undefined ? 'none that could be read' : orderLink({ stream, orderId })],
    ['Seen', <Time at={observedAt} />],
    ['Dealt with', dealtAt === undefined ? 'not yet' : <Time at={dealtAt} />],
    ['Last retry', retry === undefined ? 'none' : retryText(retry)],
  ];
  return <Facts facts={facts} />;
}

function retryText({ requestedAt, result, detail }: NonNullable<DeadLetterRowDocument['retry']>): VNode {
  return (
    <>
      {readBadge(result)} <Time at={requestedAt} /> <span class="outside">{detail}</span>
    </>
  );
}

/** Nothing in it hides: invisible characters are written out. */
function rawText(raw: string): ComponentChildren {
  return visibleText(raw).map(({ text, unseen }) =>
    unseen ? <mark title="A character that cannot be seen">{text}</mark> : text,
  );
}
