import type { VNode } from 'preact';
import { number, Table, unseen } from '../parts/table.tsx';
import { lengthText, Time } from '../parts/time-text.tsx';
import { type AccountRow, auditText, isTokenLate, stateWords } from '../state/account-rows.ts';

export type ReadKind = 'read' | 'backfill';

interface TableProps {
  readonly rows: readonly AccountRow[];
  /** The account shown below. */
  readonly chosen: string | undefined;
  /** Undefined: none is shown below any more. */
  readonly open: (accountId: string | undefined) => void;
  /** Undefined: this token may not ask for a read. */
  readonly ask: ((kind: ReadKind, row: AccountRow) => void) | undefined;
}

/** One row for each account and stream. */
export function AccountTable({ rows, chosen, open, ask }: TableProps) {
  return (
    <Table
      class="accounts"
      head={[
        'Account',
        'State',
        'Last event',
        'Last complete read',
        'Last audit',
        number('Lost, last hour', 'Changes that the stream lost and an audit found, in the last hour'),
        number('Open orders'),
        number('Token', 'Until the token ends; it is renewed before'),
        ask !== undefined && unseen('Actions'),
      ]}
    >
      {rows.map((row) => rowOf(row, { chosen, open, ask }))}
    </Table>
  );
}

function rowOf(row: AccountRow, { chosen, open, ask }: Omit<TableProps, 'rows'>): VNode {
  const {
    accountId,
    stream,
    isSim,
    since,
    lastEvent,
    lastResync,
    lastAudit,
    silentLosses,
    openOrders,
    tokenSecondsLeft,
  } = row;
  const { words, hint, tone } = stateWords(row.state);
  return (
    <tr key={`${stream} ${accountId}`}>
      <td>
        <button
          class="quiet account-name"
          aria-expanded={chosen === accountId}
          onClick={() => open(chosen === accountId ? undefined : accountId)}
        >
          {accountId}
        </button>
        <div class="soft">
          {stream}
          {isSim ? ', simulated' : ''}
        </div>
      </td>
      <td>
        <span class={`badge ${tone}`} title={hint}>
          {words}
        </span>{' '}
        {since !== undefined && (
          <div class="soft">
            since <Time at={since} />
          </div>
        )}
        {standingNote(row)}
      </td>
      <td>
        <Time at={lastEvent} />
      </td>
      <td>
        <Time at={lastResync} />
      </td>
      <td>
        {lastAudit === undefined ? (
          '–'
        ) : (
          <>
            <Time at={lastAudit.at} />
            <div class="soft">{auditText(lastAudit)}</div>
          </>
        )}
      </td>
      <td class="number">
        {silentLosses === undefined ? '–' : silentLosses === 0 ? '0' : <b class="warn-text">{silentLosses}</b>}
      </td>
      <td class="number">{openOrders}</td>
      <td class="number">
        {tokenSecondsLeft === undefined ? (
          '–'
        ) : (
          <span class={isTokenLate(row) ? 'warn-text' : ''}>{lengthText(tokenSecondsLeft * 1000)}</span>
        )}
      </td>
      {ask !== undefined && (
        <td>
          <div class="actions">
            <button aria-label={`Read now: ${stream} ${accountId}`} onClick={() => ask('read', row)}>
              Read now
            </button>
            <button aria-label={`Backfill: ${stream} ${accountId}`} onClick={() => ask('backfill', row)}>
              Backfill
            </button>
          </div>
        </td>
      )}
    </tr>
  );
}

/** The platform's own word if it forbids placing; nothing if it permits it, or is not known. */
function standingNote({ platformStatus, placeable, unlistedSince }: AccountRow): VNode | undefined {
  if (placeable !== false) return undefined;
  const hint =
    'Orders are not placed on it; cancels are sent, and its orders are followed as far as the platform lets us';
  const words =
    unlistedSince === undefined ? `platform: ${platformStatus ?? 'no status'}` : 'not listed by the platform any more';
  return (
    <div>
      <span class="badge warn outside" title={hint}>
        {words}
      </span>
    </div>
  );
}
