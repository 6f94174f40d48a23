import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { DeadLetterJobDocument } from '../../contract/dead-letter-bodies.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { useConsole } from '../parts/console.ts';
import { staleNote, waitingNote } from '../parts/notes.tsx';
import { Table, unseen } from '../parts/table.tsx';
import { Time } from '../parts/time-text.tsx';
import { usePolled } from '../parts/use-while-shown.ts';
import { filterText, progressOf } from '../state/dead-letter-list.ts';
import { polledAt } from '../state/polled.ts';
import type { Page } from '../state/rest.ts';
import { joined } from '../state/text/word-text.ts';

export const actionNames = { retry: 'Retry', discard: 'Discard' } as const;
export type JobAction = keyof typeof actionNames;

interface JobsProps {
  /** Rises with each job asked for here. */
  readonly changes: number;
  /** A job has ended: the rows are others now. */
  readonly ended: () => void;
}

/** Above the rows there is room for a few. */
const fewJobs = 3;

const isRunning = ({ state }: DeadLetterJobDocument) => state === 'running';

/** The newest jobs over dead letters, with their progress. */
export function DeadLetterJobs({ changes, ended }: JobsProps) {
  const state = useConsole();
  const jobs = useMemo(() => {
    const everyMs = (value: Page<DeadLetterJobDocument> | undefined) => (value?.items.some(isRunning) ? 1_000 : 10_000);
    return polledAt<Page<DeadLetterJobDocument>>(state, '/v1/dead-letters/jobs', everyMs);
  }, []);
  const shown = usePolled(jobs);
  const [all, setAll] = useState(false);
  const [cancelling, setCancelling] = useState<DeadLetterJobDocument>();
  useEffect(() => jobs.again(), [jobs, changes]);
  const over = shown.value?.items.filter((job) => !isRunning(job)).length;
  useEffect(() => {
    if (over !== undefined) ended();
  }, [over]);
  const cancel = state.session.may('ops:write') ? setCancelling : undefined;
  const items = shown.value?.items ?? [];
  // A reader without jobs needs no word about them; a reader with unreadable ones does.
  if (items.length === 0 && cancelling === undefined)
    return shown.fault === undefined ? null : <div class="panel">{waitingNote(shown, 'the jobs')}</div>;
  return (
    <section class="jobs">
      <div class="screen-head">
        <h2>Jobs</h2>
        {items.length > fewJobs && (
          <button class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? 'Only the newest' : `All ${items.length}`}
          </button>
        )}
      </div>
      {staleNote(shown)}
      <div class="panel">
        <Table class="roomy" label="Jobs" head={['Asked', 'Job', 'Progress', 'Reason', unseen('Actions')]}>
          {items.slice(0, all ? items.length : fewJobs).map((job) => jobRow(job, cancel))}
        </Table>
      </div>
      {cancelling !== undefined && (
        <ActionDialog
          title="Cancel the job"
          text="Its rows that are still open stay dead letters."
          label="Cancel the job"
          run={`/v1/dead-letters/jobs/${cancelling.jobId}/cancel`}
          done={() => jobs.again()}
          close={() => setCancelling(undefined)}
        />
      )}
    </section>
  );
}

function jobRow(job: DeadLetterJobDocument, cancel: ((job: DeadLetterJobDocument) => void) | undefined): VNode {
  const { jobId, action, filter, reason, by, askedAt, total, done, failed, withdrawn, failures } = job;
  const parts = [
    `${done} of ${total} done`,
    failed > 0 && `${failed} failed`,
    withdrawn > 0 && `${withdrawn} withdrawn`,
  ];
  return (
    <tr key={jobId}>
      <td>
        <Time at={askedAt} /> <span class="soft">{by}</span>
      </td>
      <td>
        <b>{actionNames[action]}</b> <span class="soft outside">{filterText(filter)}</span>
      </td>
      <td>
        <span class={`badge ${isRunning(job) ? '' : failed > 0 ? 'warn' : 'good'}`}>
          {isRunning(job) ? 'under way' : job.state}
        </span>{' '}
        {joined(parts)}
        <progress aria-label="Rows with an answer" max="1" value={progressOf(job)} />
        {failures.map((failure) => (
          <div class="soft outside">
            {failure.rows} × {failure.detail}
          </div>
        ))}
      </td>
      <td class="outside">{reason}</td>
      <td>{isRunning(job) && cancel !== undefined && <button onClick={() => cancel(job)}>Cancel</button>}</td>
    </tr>
  );
}
