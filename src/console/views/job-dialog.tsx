import { useEffect, useState } from 'preact/hooks';
import type { DeadLetterJobSizeDocument } from '../../contract/dead-letter-bodies.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import type { ConsoleState } from '../state/console-state.ts';
import { type DeadLetterFilter, filterText } from '../state/dead-letter-list.ts';
import { type Answer, sentenceOf } from '../state/rest.ts';
import { plural } from '../state/text/word-text.ts';

export type JobAction = 'retry' | 'discard';

interface DialogProps {
  readonly state: ConsoleState;
  readonly action: JobAction;
  readonly filter: DeadLetterFilter & { readonly rowIds?: readonly string[] };
  readonly done: () => void;
  readonly close: () => void;
}

/** Counts the rows for a job, and asks for it. */
export function JobDialog({ state, action, filter, done, close }: DialogProps) {
  const [size, setSize] = useState<Answer<DeadLetterJobSizeDocument>>();
  useEffect(() => {
    const body = { action, filter, reason: 'counted before it is asked for', dryRun: true };
    void state.rest.send<DeadLetterJobSizeDocument>('POST', '/v1/dead-letters/jobs', { body }).then(setSize);
  }, []);
  const effect =
    action === 'retry'
      ? 'The orders of these rows are read again from the platform; the old messages are never used.'
      : 'These rows were checked and need no action; they are kept, and no longer listed.';
  return (
    <ActionDialog
      title={`${action === 'retry' ? 'Retry' : 'Discard'}: ${filterText(filter)}`}
      text={effect}
      label={action === 'retry' ? 'Retry' : 'Discard'}
      danger={action === 'discard'}
      run={(reason) => state.rest.send('POST', '/v1/dead-letters/jobs', { body: { action, filter, reason } })}
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
