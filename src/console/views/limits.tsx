import type { LimitLine } from '../../contract/limit-bodies.ts';
import { staleNote, waitingNote } from '../parts/polled-notes.tsx';
import { Table } from '../parts/table.tsx';
import { timeText } from '../parts/time-text.tsx';
import { usePolled } from '../parts/use-polled.ts';
import { fieldText } from '../parts/words.ts';
import type { RiskWatch } from '../state/commands/risk-watch.ts';

const mostLines = 200;

/** The limits on places and replaces. The command line changes them. */
export function Limits({ watch, nowMs }: { readonly watch: RiskWatch; readonly nowMs: number }) {
  const limits = usePolled(watch.limits);
  const { value } = limits;
  return (
    <>
      <h2>Limits</h2>
      {staleNote(limits)}
      <div class="panel">{value === undefined ? waitingNote(limits, 'the limits') : tableOf(value.items, nowMs)}</div>
    </>
  );
}

function tableOf(lines: readonly LimitLine[], nowMs: number) {
  if (lines.length === 0)
    return (
      <p class="hint panel-body">
        None are set. A simulated account needs none; a real account is not traded without them.
      </p>
    );
  return (
    <>
      <Table head={['For', 'Limits', 'Changed']}>{lines.slice(0, mostLines).map((line) => lineOf(line, nowMs))}</Table>
      <p class="hint panel-body">
        Every line that fits a command holds. Cancels are never limited.
        {lines.length > mostLines && ` ${lines.length - mostLines} more lines.`}
      </p>
    </>
  );
}

function lineOf({ principal, accountId, bounds, changedBy, changedAt, reason }: LimitLine, nowMs: number) {
  const scope = [principal ?? 'everyone', accountId ?? 'every account'].join(', ');
  return (
    <tr key={scope}>
      <th scope="row">{scope}</th>
      <td>
        {Object.entries(bounds).map(([name, bound]) => (
          <span class="bound">
            <span class="soft">{fieldText(name)}</span> {boundText(bound)}
          </span>
        ))}
      </td>
      <td>
        {timeText(changedAt, nowMs)}, {changedBy}
        <br />
        <span class="soft">{reason}</span>
      </td>
    </tr>
  );
}

function boundText(bound: unknown): string {
  return Array.isArray(bound) ? bound.slice(0, 50).join(', ') : String(bound);
}
