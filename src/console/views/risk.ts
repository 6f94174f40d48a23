import { useEffect, useMemo, useState } from 'preact/hooks';
import { html } from '../parts/html.ts';
import { useValue } from '../parts/use-value.ts';
import { RiskWatch } from '../state/commands/risk-watch.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { Approvals } from './approvals.ts';
import { CancelAllProgress } from './cancel-all-progress.ts';
import { Exposure } from './exposure.ts';
import { Limits } from './limits.ts';
import { type AskedStop, StopDialog } from './stop-dialog.ts';
import { Stops } from './stops.ts';

/** Money at work in orders, and the ways to stop it. */
export function Risk({ state }: { readonly state: ConsoleState }) {
  const watch = useMemo(() => new RiskWatch(state), [state]);
  const beginning = useValue(state.beginnings);
  const run = useValue(state.cancelAll);
  const [asked, setAsked] = useState<AskedStop | undefined>(undefined);
  const [note, setNote] = useState<string | undefined>(undefined);
  useEffect(() => {
    watch.again();
    return watch.listen();
  }, [watch, beginning]);
  const mayRead = state.session.may('ops:read');
  const done = (words: string | undefined) => {
    setNote(words);
    watch.again();
  };
  return html`<section class="screen risk" aria-labelledby="risk-title">
    <div class="screen-head"><h1 id="risk-title">Risk and stops</h1></div>
    ${
      note !== undefined &&
      html`<p class="note" role="status"><span>${note}</span><button class="quiet" onClick=${() => setNote(undefined)}>Dismiss</button></p>`
    }
    ${run !== undefined && html`<${CancelAllProgress} key=${run.atMs} state=${state} run=${run} />`}
    ${mayRead && html`<${Approvals} state=${state} watch=${watch} done=${done} />`}
    ${mayRead && html`<${Stops} state=${state} watch=${watch} ask=${setAsked} />`}
    <${Exposure} watch=${watch} nowMs=${state.ports.nowMs()} />
    ${mayRead && html`<${Limits} watch=${watch} nowMs=${state.ports.nowMs()} />`}
    ${asked !== undefined && html`<${StopDialog} state=${state} asked=${asked} done=${done} close=${() => setAsked(undefined)} />`}
  </section>`;
}
