import { useState } from 'preact/hooks';
import { ActionDialog } from '../parts/action-dialog.tsx';
import type { AccountRow } from '../state/account-rows.ts';
import type { ConsoleState } from '../state/console-state.ts';

export type ReadKind = 'read' | 'backfill';

interface DialogProps {
  readonly state: ConsoleState;
  readonly kind: ReadKind;
  readonly row: AccountRow;
  readonly done: () => void;
  readonly close: () => void;
}

/** Asks for a read of one account on one stream. */
export function ReadDialog({ state, kind, row: { accountId, stream }, done, close }: DialogProps) {
  const [from, setFrom] = useState('');
  const run = (reason: string) => {
    // The field has the reader's own time without a zone.
    const body = { reason, stream, ...(kind === 'backfill' && from !== '' && { from: new Date(from).toISOString() }) };
    return state.rest.send('POST', `/v1/accounts/${encodeURIComponent(accountId)}/${kind}`, { body });
  };
  const whole = 'All orders that changed since then are read from the platform, or every order of the account.';
  const newest =
    'All orders that changed since the last complete read are read from the platform, and each order that is open here.';
  return (
    <ActionDialog
      title={`${kind === 'read' ? 'Read now' : 'Backfill'}: ${accountId}, ${stream}`}
      text={`${kind === 'read' ? newest : whole} Nothing that is known already is changed by it.`}
      label={kind === 'read' ? 'Read now' : 'Backfill'}
      run={run}
      done={done}
      close={close}
    >
      {kind === 'backfill' && (
        <label>
          Changes since (empty: the whole account)
          <input type="datetime-local" step="1" value={from} onInput={(event) => setFrom(event.currentTarget.value)} />
        </label>
      )}
    </ActionDialog>
  );
}
