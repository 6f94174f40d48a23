import { useConsole } from '../parts/console.ts';
import { faultNote, polledPanel } from '../parts/notes.tsx';
import { Table, unseen } from '../parts/table.tsx';
import { Time } from '../parts/time-text.tsx';
import { usePolled } from '../parts/use-while-shown.ts';
import { haltCauseText, scopeText } from '../parts/words.ts';
import { haltsByScope, type ScopeLine } from '../state/commands/halts-by-scope.ts';
import type { RiskWatch } from '../state/commands/risk-watch.ts';
import type { Session } from '../state/session.ts';
import type { AskedAct } from './risk-dialog.tsx';

interface HaltsProps {
  readonly watch: RiskWatch;
  readonly ask: (asked: AskedAct) => void;
}

/** The scopes with a halt: since when, by whom and why; and buttons to halt, resume and cancel. */
export function Halts({ watch, ask }: HaltsProps) {
  const { session } = useConsole();
  const halts = usePolled(watch.halts);
  const accounts = usePolled(watch.accounts);
  return (
    <>
      <h2>Halts</h2>
      {accounts.fault !== undefined && faultNote(`The accounts could not be read. ${accounts.fault}`)}
      {polledPanel(halts, 'the halts', (value) => (
        <Table class="halts" head={['Account', 'Placing', 'Why', unseen('Actions')]}>
          {haltsByScope(accounts.value?.items, value.halts).map((line) => lineOf(line, session, ask))}
        </Table>
      ))}
    </>
  );
}

function lineOf(line: ScopeLine, session: Session, ask: HaltsProps['ask']) {
  const { accountId, isSim, isUnknown, halts } = line;
  const scope = scopeText(accountId);
  return (
    <tr key={scope}>
      <th scope="row">
        {accountId ?? 'All accounts'} {isSim !== undefined && <span class="soft">{isSim ? 'simulated' : 'real'}</span>}{' '}
        {isUnknown && <span class="warn-text">never followed: is the id right?</span>}
      </th>
      <td>
        {halts.length > 0 ? (
          <span class="halted">halted</span>
        ) : (
          <span class="soft">{accountId === undefined ? 'no halt for all' : 'not halted'}</span>
        )}
      </td>
      <td>
        {halts.map(({ haltId, cause, reason, by, since }) => (
          <p class="halt" key={haltId}>
            {reason} <span class="soft">({haltCauseText(cause)})</span>
            <br />
            <span class="soft">
              since <Time at={since} />, by {by}
            </span>
          </p>
        ))}
      </td>
      <td>{mayHalt(session, accountId) && actionsOf(line, scope, ask)}</td>
    </tr>
  );
}

/** An act on all accounts needs a token for every account. */
function mayHalt(session: Session, accountId: string | undefined): boolean {
  return session.may('ops:write') && (accountId !== undefined || session.rights?.accounts === undefined);
}

function actionsOf({ accountId, halts }: ScopeLine, scope: string, ask: HaltsProps['ask']) {
  const button = (verb: AskedAct['verb'], label: string, danger = false) => (
    <button class={danger ? 'danger' : ''} aria-label={`${label} ${scope}`} onClick={() => ask({ verb, accountId })}>
      {label} …
    </button>
  );
  return (
    <div class="actions">
      {button('halt', 'Halt')} {halts.length > 0 && button('resume', 'Resume')}{' '}
      {button('cancel-all', 'Cancel all', true)}
    </div>
  );
}
