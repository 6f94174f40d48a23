import type { VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useConsole } from '../../console/parts/console.ts';
import { useValue } from '../../console/parts/use-value.ts';
import type { FaultName } from '../break-it/shapes.ts';
import { DemoProof } from './demo-proof.tsx';
import { DemoWatch, isBusy } from './demo-watch.ts';
import { groupsOf } from './fault-words.ts';
import { IncidentStory } from './incident-story.tsx';

/**
 * In the demo only: buttons for the sandbox's faults, the story of each, and the comparison of
 * ledger, database and topic.
 */
export function BreakIt(): VNode {
  const state = useConsole();
  const watch = useMemo(() => new DemoWatch(state.ports, state.rest), []);
  const { document, note } = useValue(watch.state);
  useEffect(() => {
    const abort = new AbortController();
    void watch.follow(abort.signal);
    return () => abort.abort();
  }, [watch]);
  const busy = document === undefined || isBusy(document);
  const stories = useRef<HTMLDivElement>(null);
  // A button that is off keeps the focus: `disabled` would take it from a reader at the keyboard.
  const press = (fault: FaultName) => {
    if (!busy) void watch.breakIt(fault).then(() => showStories(stories.current));
  };
  const [latest, ...earlier] = document?.incidents ?? [];
  const nowMs = state.ports.nowMs();
  return (
    <section class="screen break-it">
      <header class="screen-head">
        <h1>Break it</h1>
        <p class="soft">The platform of this demo is a sandbox. Break something, and watch the service heal.</p>
      </header>
      {note !== undefined && (
        <p class="note" role="alert">
          {note}
        </p>
      )}
      <div class="break-columns">
        <div class="fault-groups">
          {groupsOf(document?.faults).map(({ title, faults }) => (
            <section class="panel fault-group" aria-label={title}>
              <h2>{title}</h2>
              <ul>
                {faults.map(({ name, label, text }) => (
                  <li>
                    <button aria-disabled={busy} onClick={() => press(name)} aria-describedby={`fault-${name}`}>
                      {label}
                    </button>
                    <p class="fault-text" id={`fault-${name}`}>
                      {text}
                    </p>
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </div>
        <div class="break-stories" ref={stories}>
          {latest === undefined ? (
            <p class="panel panel-body soft">
              {document === undefined
                ? 'Reading …'
                : 'Nothing was broken yet. Press a button: each step of the healing is shown here.'}
            </p>
          ) : (
            <IncidentStory
              key={latest.id}
              incident={latest}
              nowMs={nowMs}
              resolve={(id: string) => void watch.resolveAsRejected(id)}
            />
          )}
          <DemoProof
            proof={document?.proof ?? { state: 'none' }}
            busy={busy}
            nowMs={nowMs}
            prove={() => void watch.prove()}
          />
          {earlier.length > 0 && <h2>Before</h2>}
          {earlier.map((incident) => (
            <IncidentStory
              key={incident.id}
              incident={incident}
              nowMs={nowMs}
              folded={incident.state !== 'waits'}
              resolve={(id: string) => void watch.resolveAsRejected(id)}
            />
          ))}
        </div>
      </div>
    </section>
  );
}

/** On a phone they are below the buttons. */
function showStories(stories: HTMLElement | null): void {
  if (stories !== null && stories.getBoundingClientRect().top > innerHeight / 2)
    stories.scrollIntoView({ block: 'start' });
}
