import type { VNode } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { AccountRepairDocument } from '../../contract/account-answers.ts';
import type { StatusDocument } from '../../contract/status-answer.ts';
import { useConsole } from '../parts/console.ts';
import { Link } from '../parts/link.tsx';
import { panelNote, polledPanel, readBadge } from '../parts/notes.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time-text.tsx';
import { usePolled } from '../parts/use-while-shown.ts';
import { type AccountRow, stateWords } from '../state/account-rows.ts';
import { addressOf, blotterAddress } from '../state/address.ts';
import { defaultView } from '../state/orders/blotter-view.ts';
import { polledAt } from '../state/polled.ts';
import type { Page } from '../state/rest.ts';
import { joined, plural } from '../state/text/word-text.ts';

interface DetailProps {
  readonly accountId: string;
  /** The account on each stream. */
  readonly rows: readonly AccountRow[];
  readonly status: StatusDocument | undefined;
  /** Rises with each request made here. */
  readonly done: number;
  readonly close: () => void;
}

const isWaiting = ({ state }: AccountRepairDocument) => state === 'waiting';

/** One account: its last errors, and the reads that people asked for, with their progress. */
export function AccountDetail({ accountId, rows, status, done, close }: DetailProps) {
  const mayOperate = useConsole().session.may('ops:read');
  return (
    <section class="account-detail" aria-label={`Account ${accountId}`}>
      <div class="screen-head">
        <h2>Account {accountId}</h2>
        <Link to={blotterAddress({ ...defaultView, accountId })}>Its orders</Link>
        {mayOperate && <Link to={addressOf('deadLetters', { account: accountId })}>Its dead letters</Link>}
        <button class="quiet" onClick={close}>
          Close
        </button>
      </div>
      {rows.map((row) => factsOf(row, status))}
      {mayOperate && <RepairList accountId={accountId} done={done} />}
    </section>
  );
}

function factsOf(row: AccountRow, status: StatusDocument | undefined): VNode {
  const { stream, lastError } = row;
  const more = status?.accounts.find((each) => each.account === row.accountId && each.stream === stream);
  const { inDoubt = 0, unrecovered = 0 } = more ?? {};
  const doubts = joined([
    inDoubt > 0 && `${plural(inDoubt, 'order')} in doubt`,
    unrecovered > 0 && `${plural(unrecovered, 'message')} not recovered`,
  ]);
  return (
    <p key={stream}>
      <b>{stream}</b>: {stateWords(row.state).hint}.{doubts && ` ${doubts}.`}{' '}
      {lastError !== undefined && <span class="outside">Last error: {lastError}</span>}
    </p>
  );
}

function RepairList({ accountId, done }: Pick<DetailProps, 'accountId' | 'done'>) {
  const state = useConsole();
  const repairs = useMemo(() => {
    const path = `/v1/accounts/${encodeURIComponent(accountId)}/repairs`;
    // A read under way ends within seconds.
    return polledAt<Page<AccountRepairDocument>>(state, path, (value) =>
      value?.items.some(isWaiting) ? 1_000 : 10_000,
    );
  }, [accountId]);
  const shown = usePolled(repairs);
  useEffect(() => repairs.again(), [repairs, done]);
  return (
    <>
      <h3>Reads that were asked for</h3>
      {polledPanel(shown, 'them', ({ items }) =>
        items.length === 0 ? (
          panelNote('None yet.')
        ) : (
          <Table class="roomy" label="Reads that were asked for" head={['Asked', 'Read', 'Stream', 'Result', 'Reason']}>
            {items.map(repairRow)}
          </Table>
        ),
      )}
    </>
  );
}

function repairRow(repair: AccountRepairDocument): VNode {
  const { requestId, kind, stream, from, by, reason, requestedAt, state, detail, answeredAt } = repair;
  const what =
    kind === 'read' ? (
      'newest changes'
    ) : from === undefined ? (
      'the whole account'
    ) : (
      <>
        since <Time at={from} />
      </>
    );
  return (
    <tr key={requestId}>
      <td>
        <Time at={requestedAt} /> <span class="soft">{by ?? 'at the command line'}</span>
      </td>
      <td>{what}</td>
      <td class="stream">{stream}</td>
      <td>
        {readBadge(state === 'waiting' ? undefined : state)} <span class="outside">{detail}</span>
        {answeredAt !== undefined && (
          <span class="soft">
            {' '}
            <Time at={answeredAt} />
          </span>
        )}
      </td>
      <td class="outside">{reason ?? '–'}</td>
    </tr>
  );
}
