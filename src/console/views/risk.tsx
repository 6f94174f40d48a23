import { useMemo, useState } from 'preact/hooks';
import { useValue } from '../parts/use-value.ts';
import { useWhileShown } from '../parts/use-while-shown.ts';
import { RiskWatch } from '../state/commands/risk-watch.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { Approvals } from './approvals.tsx';
import { CancelAllProgress } from './cancel-all-progress.tsx';
import { Exposure } from './exposure.tsx';
import { Halts } from './halts.tsx';
import { Limits } from './limits.tsx';
import { type AskedAct, RiskDialog } from './risk-dialog.tsx';

/** Money at work in orders, and the ways to stop it. */
export function Risk({ state }: { readonly state: ConsoleState }) {
  const watch = useMemo(() => new RiskWatch(state), [state]);
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
      {run !== undefined && <CancelAllProgress key={run.atMs} state={state} run={run} />}
      {mayRead && <Approvals state={state} watch={watch} done={done} />}
      {mayRead && <Halts state={state} watch={watch} ask={ask} />}
      <Exposure watch={watch} nowMs={state.ports.nowMs()} />
      {mayRead && <Limits watch={watch} nowMs={state.ports.nowMs()} />}
      {asked !== undefined && <RiskDialog state={state} asked={asked} done={done} close={() => setAsked(undefined)} />}
    </section>
  );
}
