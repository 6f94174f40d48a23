import { useMemo, useState } from 'preact/hooks';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { useConsole } from '../parts/console.ts';
import { DoubtNotes } from '../parts/doubt-notes.tsx';
import { textFilter } from '../parts/filter-fields.tsx';
import { useGo } from '../parts/link.tsx';
import { panelNote, staleNote, waitingNote } from '../parts/notes.tsx';
import { useValue } from '../parts/use-value.ts';
import { usePolled } from '../parts/use-while-shown.ts';
import { type AccountRow, accountsPolled, sortedAccounts } from '../state/account-rows.ts';
import { addressOf, type Place } from '../state/address.ts';
import { AccountDetail } from './account-detail.tsx';
import { AccountTable, type ReadKind } from './account-table.tsx';
import { absentOrders, connections, credentials } from './connections.tsx';

const everyMs = 4_000;
/** Drawn at once; the filter finds the others. */
const mostRows = 200;

/** Each account and stream: whether it is current, and what a person can do if not. */
export function AccountsPage({ query }: Place) {
  const state = useConsole();
  const go = useGo();
  const accounts = useMemo(() => accountsPolled(state, everyMs), []);
  const shown = usePolled(accounts);
  const { status } = useValue(state.status.state);
  const [asking, setAsking] = useState<{ readonly kind: ReadKind; readonly row: AccountRow }>();
  const [done, setDone] = useState(0);
  const [text, account] = [query.get('text') ?? '', query.get('account') ?? undefined];
  const rows = sortedAccounts(shown.value?.items ?? [], text);
  const chosen = shown.value?.items.filter(({ accountId }) => accountId === account) ?? [];
  const open = (accountId: string | undefined) =>
    go(addressOf('accounts', { text, account: accountId }), { replace: true });
  return (
    <div class="screen">
      <header class="screen-head">
        <h1>Accounts and sources</h1>
        {textFilter('Find an account', text, {
          onInput: (event) =>
            go(addressOf('accounts', { text: event.currentTarget.value, account }), { replace: true }),
        })}
      </header>
      <DoubtNotes names={['account_not_live', 'silent_losses', 'standby']} />
      {staleNote(shown)}
      {shown.value?.statesKnown === false && (
        <p class="hint">This instance stands by. Only the instance in charge knows the states of the accounts.</p>
      )}
      <div class="panel">
        {shown.value === undefined ? (
          waitingNote(shown, 'the accounts')
        ) : rows.length === 0 ? (
          panelNote(text === '' ? 'No account is followed yet.' : 'No account has this text in its name.')
        ) : (
          <AccountTable
            rows={rows.slice(0, mostRows)}
            chosen={account}
            open={open}
            ask={
              state.session.may('ops:write') ? (kind: ReadKind, row: AccountRow) => setAsking({ kind, row }) : undefined
            }
          />
        )}
        {rows.length > mostRows && panelNote(`${rows.length - mostRows} more: find them by their name.`)}
        {shown.value?.next !== undefined && panelNote(`Only the first ${shown.value.items.length} lines were read.`)}
      </div>
      {chosen.length > 0 && account !== undefined && (
        <AccountDetail
          key={account}
          accountId={account}
          rows={chosen}
          status={status}
          done={done}
          close={() => open(undefined)}
        />
      )}
      {status !== undefined && (
        <>
          {absentOrders(status)} {connections(status)} {credentials(status)}
        </>
      )}
      {asking !== undefined && (
        <ReadDialog
          {...asking}
          close={() => setAsking(undefined)}
          done={() => {
            setDone((count) => count + 1);
            open(asking.row.accountId);
          }}
        />
      )}
    </div>
  );
}

interface DialogProps {
  readonly kind: ReadKind;
  readonly row: AccountRow;
  readonly done: () => void;
  readonly close: () => void;
}

const reads: Readonly<Record<ReadKind, { readonly label: string; readonly text: string }>> = {
  read: {
    label: 'Read now',
    text: 'All orders that changed since the last complete read are read from the platform, and each order that is open here.',
  },
  backfill: {
    label: 'Backfill',
    text: 'All orders that changed since then are read from the platform, or every order of the account.',
  },
};

/** Asks for a read of one account on one stream. */
function ReadDialog({ kind, row: { accountId, stream }, done, close }: DialogProps) {
  const { rest } = useConsole();
  const [from, setFrom] = useState('');
  const run = (reason: string) => {
    // The field has the reader's own time without a zone.
    const body = { reason, stream, ...(kind === 'backfill' && from !== '' && { from: new Date(from).toISOString() }) };
    return rest.send('POST', `/v1/accounts/${encodeURIComponent(accountId)}/${kind}`, { body });
  };
  const { label, text } = reads[kind];
  return (
    <ActionDialog
      title={`${label}: ${accountId}, ${stream}`}
      text={`${text} Nothing that is known already is changed by it.`}
      label={label}
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
