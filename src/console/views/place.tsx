import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { AccountListDocument } from '../../contract/account-answers.ts';
import { useConsole } from '../parts/console.ts';
import { useDoubts } from '../parts/doubt-notes.tsx';
import { Link, useGo } from '../parts/link.tsx';
import { faultNote } from '../parts/notes.tsx';
import { orderWords } from '../parts/ticket-words.ts';
import { useValue } from '../parts/use-value.ts';
import { useAnswer } from '../parts/use-while-shown.ts';
import { readAccounts } from '../state/account-rows.ts';
import { commandAddress, commandsAddress, type Place } from '../state/address.ts';
import { prefilledBy, type Ticket } from '../state/commands/ticket.ts';
import { requestOf, type TicketFields, type TicketKind } from '../state/commands/ticket-body.ts';
import { lossOf } from '../state/doubts.ts';
import { symbolsOf } from '../state/symbol-text.ts';
import { questionOf } from '../state/ticket-preview.ts';
import { TicketForm } from './ticket-form.tsx';
import { crossingText, Preview, refusalOf, usePreview, useWildWords } from './ticket-preview.tsx';

const kindNames: Readonly<Record<TicketKind, string>> = {
  equity: 'Equity',
  option: 'Option',
  prediction: 'Prediction',
};

/** A ticket for one order, and beside it what it comes to and what will be sent. */
export function PlaceOrder({ query }: Place) {
  const state = useConsole();
  const may = state.session.mayCommand();
  const ticket = useMemo(() => (may ? state.openTicket(prefilledBy(query)) : undefined), [may]);
  if (ticket === undefined)
    return <p class="alone">Orders cannot be placed here: commands are off, or this token may not place orders.</p>;
  return <OpenTicket ticket={ticket} />;
}

function OpenTicket({ ticket }: { readonly ticket: Ticket }) {
  const state = useConsole();
  const go = useGo();
  const form = useRef<HTMLFormElement>(null);
  const fields = useValue(ticket.fields);
  const progress = useValue(ticket.progress);
  const accounts = useAnswer<AccountListDocument>((signal) => readAccounts(state.rest, signal), []);
  useEffect(() => {
    if (progress.kind === 'sent') go(commandAddress(progress.commandId));
    if (progress.kind === 'refused') form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
  }, [progress]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void ticket.send();
  };
  // Enter in a field would place the order: only the button does.
  const key = (event: KeyboardEvent) =>
    event.key === 'Enter' && event.target instanceof HTMLInputElement && event.preventDefault();
  const locked = !ticket.mayChange();
  const question = useMemo(() => questionOf(fields), [fields]);
  const preview = usePreview(question, locked);
  const loss = lossOf(useDoubts());
  const nowMs = state.ports.monotonicMs();
  const crossing = locked ? undefined : crossingText(fields, preview, nowMs);
  const wild = useWildWords(fields, preview);
  const refusal = locked ? undefined : (loss ?? refusalOf(preview));
  return (
    <section class="screen" aria-labelledby="place-title">
      <div class="screen-head">
        <h1 id="place-title">Place an order</h1>
        <div class="actions" role="group" aria-label="Kind of order">
          {Object.entries(kindNames).map(([kind, name]) => (
            <button
              class="kind"
              aria-pressed={fields.kind === kind}
              disabled={locked}
              onClick={() => ticket.setKind(kind as TicketKind)}
            >
              {name}
            </button>
          ))}
        </div>
      </div>
      <form class="ticket" ref={form} onSubmit={submit} onKeyDown={key}>
        <div class="panel panel-body">
          <TicketForm
            ticket={ticket}
            fields={fields}
            faults={(progress.kind === 'refused' ? progress.faults : preview.faults) ?? new Map<string, string>()}
            symbols={(ofLegs) => symbolsOf(fields.kind, state.orders.rows.values(), ofLegs)}
            accounts={accounts?.kind === 'ok' ? accounts.body.items : []}
          />
          {noteOf(progress, ticket.key)}
          <div class="actions place">
            <p class="warn-text" id="place-crosses">
              {/* Without the age: a reader of the screen would hear it each second. */}
              <span role="status">{crossing?.words}</span> {crossing?.age}
            </p>
            <p class="warn-text" id="place-wild" role="status">
              {locked ? '' : wild.join(' ')}
            </p>
            <button
              type="submit"
              class={refusal === undefined ? 'main' : 'main held'}
              disabled={progress.kind === 'sending' || progress.kind === 'sent'}
              aria-describedby="place-crosses place-wild place-refused"
            >
              {buttonText(progress, fields)}
            </button>
            <p class="fault" id="place-refused">
              {refusal}
            </p>
          </div>
        </div>
        <div class="beside">
          <Preview kind="place" {...preview} />
          {sentBody(ticket)}
        </div>
      </form>
    </section>
  );
}

type Progress = Ticket['progress']['value'];

function buttonText({ kind }: Progress, fields: TicketFields): string {
  if (kind === 'sending') return 'Sending …';
  if (kind === 'sent') return 'Sent';
  return kind === 'away' ? 'Ask again' : (orderWords(fields) ?? 'Place the order');
}

function noteOf(progress: Progress, key: string) {
  if (progress.kind === 'away')
    return (
      <p class="fault" role="alert">
        The service does not answer, so this order may have been placed. “Ask again” sends the same order with the same
        key: it is placed once, even if the first request arrived. The ticket stays as it is until the service answers.{' '}
        <Link to={commandsAddress({ idempotencyKey: key })}>Look for its command</Link>
      </p>
    );
  if (progress.kind !== 'refused') return undefined;
  return faultNote(`Nothing was sent. ${progress.why ?? 'Look at the fields that are marked.'}`);
}

function sentBody(ticket: Ticket) {
  const { path, body } = requestOf(ticket.fields.peek());
  return (
    <div class="panel panel-body preview">
      <h2>What is sent</h2>
      <p class="id">POST {path}</p>
      <pre tabindex={0} aria-label="Body of the request">
        {JSON.stringify(body, null, 2)}
      </pre>
      <p class="hint">
        Key of this ticket: <span class="id">{ticket.key}</span>. With one key the service places one order, however
        often the ticket is sent. The next ticket has a key of its own.
      </p>
    </div>
  );
}
