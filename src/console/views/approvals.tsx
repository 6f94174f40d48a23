import { useState } from 'preact/hooks';
import type { ApprovalDocument } from '../../contract/halt-answers.ts';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { commandStateText } from '../parts/command-words.ts';
import { useConsole } from '../parts/console.ts';
import { faultNote } from '../parts/notes.tsx';
import { Table, unseen } from '../parts/table.tsx';
import { Time } from '../parts/time-text.tsx';
import { usePolled } from '../parts/use-while-shown.ts';
import { scopeText } from '../parts/words.ts';
import type { RiskWatch } from '../state/commands/risk-watch.ts';

interface ApprovalsProps {
  readonly watch: RiskWatch;
  readonly done: (note: string | undefined) => void;
}

/** Actions waiting for a second person. Without four eyes there are none, and nothing is shown. */
export function Approvals({ watch, done }: ApprovalsProps) {
  const { value, fault } = usePolled(watch.approvals);
  const [asked, setAsked] = useState<ApprovalDocument>();
  const items = value?.items ?? [];
  const ask = (each: ApprovalDocument) => {
    // What was said of the last act would stand beside the answer to this one.
    done(undefined);
    setAsked(each);
  };
  // The dialog stays whatever is read meanwhile: a person is typing in it.
  return (
    <>
      {fault !== undefined
        ? faultNote(`The approvals could not be read. ${fault}`)
        : items.length > 0 && tableOf(items, ask)}
      {asked !== undefined && (
        <ActionDialog
          title={`Approve: ${actionText(asked)}?`}
          text={`${asked.by} gave this reason: ${asked.reason}. Your approval does it.`}
          label="Approve"
          run={`/v1/approvals/${asked.approvalId}/approve`}
          done={() => done(`Approved and done: ${actionText(asked)}.`)}
          close={() => setAsked(undefined)}
        />
      )}
    </>
  );
}

function tableOf(items: readonly ApprovalDocument[], ask: (each: ApprovalDocument) => void) {
  return (
    <>
      <h2>Waiting for a second person</h2>
      <div class="panel">
        <Table head={['Request', 'Asked for by', 'Until', unseen('Actions')]}>
          {items.map((each) => (
            <Line key={each.approvalId} approval={each} ask={() => ask(each)} />
          ))}
        </Table>
      </div>
    </>
  );
}

interface LineProps {
  readonly approval: ApprovalDocument;
  readonly ask: () => void;
}

function Line({ approval, ask }: LineProps) {
  const { session } = useConsole();
  const { by, reason, requestedAt, expiresAt } = approval;
  const isMine = session.rights?.principal === by;
  return (
    <tr>
      <th scope="row">{actionText(approval)}</th>
      <td>
        {by}, <Time at={requestedAt} />
        <br />
        <span class="soft">{reason}</span>
      </td>
      <td>
        <Time at={expiresAt} />
      </td>
      <td>
        {isMine ? (
          <span class="soft">asked for by you: another person has to approve</span>
        ) : (
          session.may('ops:write') && (
            <button aria-label={`Approve: ${actionText(approval)}`} onClick={ask}>
              Approve …
            </button>
          )
        )}
      </td>
    </tr>
  );
}

function actionText({ action, accountId }: ApprovalDocument): string {
  if (action.kind === 'resume') return `resume placing on ${scopeText(accountId)}`;
  if (action.kind === 'resolve')
    return `resolve command ${String(action['commandId'])}: ${commandStateText(String(action['result']))}`;
  return `change limits of ${scopeText(accountId)}: ${JSON.stringify(action['change'])}`;
}
