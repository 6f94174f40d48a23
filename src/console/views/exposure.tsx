import { useState } from 'preact/hooks';
import type { ExposureLine } from '../../contract/rest-answers.ts';
import { accountText } from '../../domain/streams.ts';
import { textFilter } from '../parts/filter-fields.tsx';
import { Link } from '../parts/link.tsx';
import { panelNote, polledPanel } from '../parts/notes.tsx';
import { sideMark } from '../parts/order-text.tsx';
import { number, Table } from '../parts/table.tsx';
import { Time } from '../parts/time-text.tsx';
import { usePolled } from '../parts/use-while-shown.ts';
import { blotterAddress, commandsAddress } from '../state/address.ts';
import type { RiskWatch } from '../state/commands/risk-watch.ts';
import { defaultView } from '../state/orders/blotter-view.ts';
import { directionOf } from '../state/orders/order-row.ts';
import { addDecimals, amountText } from '../state/text/decimal-text.ts';

const mostLines = 500;

/**
 * Open orders by account, instrument and side, and what would be added if every command without a
 * known result were live.
 */
export function Exposure({ watch }: { readonly watch: RiskWatch }) {
  const exposure = usePolled(watch.exposure);
  const [text, setText] = useState('');
  const { value } = exposure;
  return (
    <>
      <div class="screen-head">
        <h2>Exposure</h2>
        {value !== undefined && (
          <span class="soft">
            as of <Time at={value.atMs} />
          </span>
        )}
        {textFilter('Account or instrument', text, {
          class: 'head-end',
          onInput: (event) => setText(event.currentTarget.value),
        })}
      </div>
      {polledPanel(exposure, 'the exposure', ({ items }) => tableOf(items, text.trim().toLowerCase()))}
    </>
  );
}

function tableOf(all: readonly ExposureLine[], wanted: string) {
  const lines = all.filter((line) =>
    `${accountText(line)} ${line.symbol} ${line.outcome ?? ''}`.toLowerCase().includes(wanted),
  );
  if (lines.length === 0)
    return panelNote(all.length === 0 ? 'No open order, and no command without a known result.' : 'Nothing matches.');
  return (
    <>
      <Table
        head={[
          'Account',
          'Instrument',
          'Side',
          number('Open orders'),
          number('Quantity'),
          number('Result not known'),
          number('Quantity'),
          number('All, as if live', 'Open orders, and commands without a known result as if they were live'),
        ]}
      >
        {lines.slice(0, mostLines).map(lineOf)}
      </Table>
      {lines.length > mostLines && panelNote(`${lines.length - mostLines} more lines; search to narrow them.`)}
    </>
  );
}

function lineOf(line: ExposureLine) {
  const {
    accountId,
    stream,
    symbol,
    outcome = '',
    side,
    openOrders,
    openQuantity,
    unresolvedCommands,
    unresolvedQuantity,
  } = line;
  const orders = blotterAddress({ ...defaultView, stream, accountId, symbol, side: directionOf(side) });
  return (
    <tr key={[accountId, stream, symbol, outcome, side].join(' ')}>
      <td class="account">{accountText(line)}</td>
      <td>{symbol === '' ? <span class="soft">not known</span> : `${symbol} ${outcome}`.trim()}</td>
      <td>{sideMark(side)}</td>
      <td class="number">{openOrders > 0 ? <Link to={orders}>{openOrders}</Link> : '–'}</td>
      <td class="number">{amountText(openQuantity)}</td>
      <td class="number">
        {unresolvedCommands > 0 ? (
          <Link class="doubt" to={commandsAddress({ accountId, unresolved: 'true' })}>
            {unresolvedCommands}
          </Link>
        ) : (
          '–'
        )}
      </td>
      <td class="number">{unresolvedCommands > 0 ? amountText(unresolvedQuantity) : '–'}</td>
      <td class="number">
        <b>{amountText(addDecimals(openQuantity, unresolvedQuantity) ?? '–')}</b>
      </td>
    </tr>
  );
}
