import { useMemo, useState } from 'preact/hooks';
import type { LimitLine } from '../../contract/limit-bodies.ts';
import { useConsole } from '../parts/console.ts';
import { panelNote, polledPanel } from '../parts/notes.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time-text.tsx';
import { useValue } from '../parts/use-value.ts';
import { usePolled, useWhileShown } from '../parts/use-while-shown.ts';
import { fieldText } from '../parts/words.ts';
import { RiskWatch } from '../state/commands/risk-watch.ts';
import { Approvals } from './approvals.tsx';
import { CancelAllProgress } from './cancel-all-progress.tsx';
import { Exposure } from './exposure.tsx';
import { Halts } from './halts.tsx';
import { type AskedAct, RiskDialog } from './risk-dialog.tsx';

/** Money at work in orders, and the ways to stop it. */
export function Risk() {
  const state = useConsole();
  const watch = useMemo(() => new RiskWatch(state), []);
  const beginning = useValue(state.beginnings);
  const run = useValue(state.cancelAll);
  const [asked, setAsked] = useState<AskedAct>();
  const [note, setNote] = useState<string>();
  useWhileShown(
    (signal) => {
      watch.again();
      watch.listen(signal);
    },
    [watch, beginning],
  );
  const mayRead = state.session.may('ops:read');
  const done = (words: string | undefined) => {
    setNote(words);
    watch.again();
  };
  const ask = (act: AskedAct) => {
    done(undefined);
    setAsked(act);
  };
  return (
    <section class="screen risk" aria-labelledby="risk-title">
      <div class="screen-head">
        <h1 id="risk-title">Risk and halts</h1>
      </div>
      {note !== undefined && (
        <p class="note" role="status">
          <span>{note}</span>
          <button class="quiet" onClick={() => setNote(undefined)}>
            Dismiss
          </button>
        </p>
      )}
      {run !== undefined && <CancelAllProgress key={run.atMs} run={run} />}
      {mayRead && <Approvals watch={watch} done={done} />}
      {mayRead && <Halts watch={watch} ask={ask} />}
      <Exposure watch={watch} />
      {mayRead && <Limits watch={watch} />}
      {asked !== undefined && <RiskDialog asked={asked} done={done} close={() => setAsked(undefined)} />}
    </section>
  );
}

const mostLines = 200;

/** The limits on places and replaces. The command line changes them. */
function Limits({ watch }: { readonly watch: RiskWatch }) {
  return (
    <>
      <h2>Limits</h2>
      {polledPanel(usePolled(watch.limits), 'the limits', ({ items }) => tableOf(items))}
    </>
  );
}

function tableOf(lines: readonly LimitLine[]) {
  if (lines.length === 0)
    return panelNote('None are set. A simulated account needs none; a real account is not traded without them.');
  const more = lines.length > mostLines ? ` ${lines.length - mostLines} more lines.` : '';
  return (
    <>
      <Table head={['For', 'Limits', 'Changed']}>{lines.slice(0, mostLines).map(lineOf)}</Table>
      {panelNote(`Every line that fits a command holds. Cancels are never limited.${more}`)}
    </>
  );
}

function lineOf({ principal, accountId, bounds, changedBy, changedAt, reason }: LimitLine) {
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
        <Time at={changedAt} />, {changedBy}
        <br />
        <span class="soft">{reason}</span>
      </td>
    </tr>
  );
}

function boundText(bound: unknown): string {
  return Array.isArray(bound) ? bound.slice(0, 50).join(', ') : String(bound);
}
