import { useEffect, useMemo, useState } from 'preact/hooks';
import type { DeadLetterJobSizeDocument } from '../../contract/dead-letter-bodies.ts';
import type { StatusDocument } from '../../contract/status-answer.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { useConsole } from '../parts/console.ts';
import { DoubtNotes } from '../parts/doubt-notes.tsx';
import { AddressFilters } from '../parts/filter-fields.tsx';
import { useValue } from '../parts/use-value.ts';
import type { Place } from '../state/address.ts';
import { type ChosenRows, DeadLetterList, deadLetterFilters, filterText } from '../state/dead-letter-list.ts';
import { filtersIn } from '../state/filter-address.ts';
import { type Answer, sentenceOf } from '../state/rest.ts';
import { plural } from '../state/text/word-text.ts';
import { actionNames, DeadLetterJobs, type JobAction } from './dead-letter-jobs.tsx';
import { DeadLetterTable } from './dead-letter-table.tsx';

/** A job's rows: the chosen ones, or all that match. */
interface Wish {
  readonly action: JobAction;
  readonly filter: ChosenRows;
}

/** Messages that could not be read or were not accepted, and the jobs over them. */
export function DeadLettersPage({ query }: Place) {
  const state = useConsole();
  const filter = filtersIn(deadLetterFilters, query);
  const words = filterText(filter);
  const list = useMemo(() => new DeadLetterList(state.rest, filter), [words]);
  const leaving = useMemo(() => new AbortController(), [list]);
  const shown = useValue(list.state);
  const chosen = useValue(list.chosen);
  const [wish, setWish] = useState<Wish>();
  const [changes, setChanges] = useState(0);
  const read = () => void list.read(leaving.signal);
  useEffect(() => {
    read();
    return () => leaving.abort();
  }, [list]);
  const { status } = useValue(state.status.state);
  const filterChoices = { stream: state.session.streamWords, reason: reasonsIn(status?.deadLetters, filter.reason) };
  const mayAct = state.session.may('ops:write');
  const changed = () => {
    setChanges((count) => count + 1);
    read();
  };
  const button = (action: JobAction, all: boolean, label: string) => (
    <button
      disabled={all ? !shown.items?.length : chosen.size === 0}
      onClick={() => setWish({ action, filter: all ? filter : { rowIds: [...chosen] } })}
    >
      {label}
    </button>
  );
  return (
    <div class="screen">
      <header class="screen-head">
        <h1>Dead letters</h1>
      </header>
      <p class="hint">
        Messages that could not be read, or were not accepted. Their orders have not taken these changes; nothing else
        waits for them.
      </p>
      <DoubtNotes names={['dead_letters']} />
      <DeadLetterJobs changes={changes} ended={read} />
      <div class="bar-of-screen">
        <AddressFilters screen="deadLetters" filters={deadLetterFilters} query={query} words={filterChoices} />
        {mayAct && (
          <div class="actions">
            {button('retry', false, `Retry chosen (${chosen.size})`)}{' '}
            {button('discard', false, `Discard chosen (${chosen.size})`)}
            {button('retry', true, 'Retry all that match')} {button('discard', true, 'Discard all that match')}
          </div>
        )}
        <button onClick={read} disabled={shown.reading}>
          Refresh
        </button>
      </div>
      {shown.fault !== undefined && shown.items !== undefined && (
        <p class="stale" role="alert">
          {shown.fault}
        </p>
      )}
      <div class="panel">
        <DeadLetterTable list={list} shown={shown} chosen={chosen} filtered={words !== 'all rows'} mayAct={mayAct} />
      </div>
      {shown.more === 'page' && (
        <p>
          <button onClick={() => void list.readMore(leaving.signal)} disabled={shown.reading}>
            {shown.reading ? 'Reading …' : 'More rows'}
          </button>
        </p>
      )}
      {shown.more === 'too_many' && (
        <p class="hint">
          There are more rows. Only the first {shown.items?.length} are shown: use the filters to see others.
        </p>
      )}
      {wish !== undefined && <JobDialog {...wish} close={() => setWish(undefined)} done={changed} />}
    </div>
  );
}

/** The present reasons, each with its count, and the chosen one. */
function reasonsIn(rows: StatusDocument['deadLetters'] | undefined, chosen = '') {
  const counts = new Map<string, number>(chosen === '' ? [] : [[chosen, 0]]);
  for (const { reason, rows: count } of rows ?? []) counts.set(reason, (counts.get(reason) ?? 0) + count);
  return [...counts].map(([reason, count]) => [reason, `${reason} (${count})`] as const);
}

interface DialogProps {
  readonly action: JobAction;
  readonly filter: ChosenRows;
  readonly done: () => void;
  readonly close: () => void;
}

/** Counts the rows for a job, and asks for it. */
function JobDialog({ action, filter, done, close }: DialogProps) {
  const { rest } = useConsole();
  const [size, setSize] = useState<Answer<DeadLetterJobSizeDocument>>();
  useEffect(() => {
    const body = { action, filter, reason: 'counted before it is asked for', dryRun: true };
    void rest.send<DeadLetterJobSizeDocument>('POST', '/v1/dead-letters/jobs', { body }).then(setSize);
  }, []);
  const effect =
    action === 'retry'
      ? 'The orders of these rows are read again from the platform; the old messages are never used.'
      : 'These rows were checked and need no action; they are kept, and no longer listed.';
  return (
    <ActionDialog
      title={`${actionNames[action]}: ${filterText(filter)}`}
      text={effect}
      label={actionNames[action]}
      danger={action === 'discard'}
      run={(reason) => rest.send('POST', '/v1/dead-letters/jobs', { body: { action, filter, reason } })}
      done={done}
      close={close}
    >
      <p class="job-size" role="status">
        {sizeText(size)}
      </p>
    </ActionDialog>
  );
}

function sizeText(size: Answer<DeadLetterJobSizeDocument> | undefined): string {
  if (size === undefined) return 'Counting the rows …';
  if (size.kind !== 'ok') return `The rows could not be counted. ${sentenceOf(size)}`;
  const { total, nameless } = size.body;
  const fails = nameless === 0 ? '' : ` ${nameless} of them name no order to read again, and will fail.`;
  return `${plural(total, 'row')} as of now.${fails}`;
}
