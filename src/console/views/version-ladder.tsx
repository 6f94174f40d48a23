import type { VNode } from 'preact';
import { lengthText, Time } from '../parts/time-text.tsx';
import { causeText, fieldText, statusText } from '../parts/words.ts';
import type { Change, Step } from '../state/orders/version-ladder.ts';

interface LadderProps {
  readonly steps: readonly Step[];
  readonly cut: boolean;
}

/**
 * Every revision, newest first: its cause, the changes, the fill, the times, and the record itself.
 */
export function VersionLadder({ steps, cut }: LadderProps) {
  if (steps.length === 0)
    return <p class="soft">The log does not have its updates any more; the order above is its newest state.</p>;
  const first = steps.at(-1)?.update.revision ?? 1;
  return (
    <>
      <ol class="ladder" reversed>
        {steps.map((step) => (
          <li key={step.update.eventId}>{rungOf(step)}</li>
        ))}
      </ol>
      {cut && <p class="soft">Newer revisions exist that are not shown.</p>}
      {first > 1 && <p class="soft">Revisions before {first} are not in the log any more.</p>}
    </>
  );
}

function rungOf({ update, changes, delayMs, storedAfterMs }: Step): VNode {
  const { revision, sourceVersion, sourceEpoch, cause, fill, occurredAt, observedAt } = update;
  return (
    <div class="rung">
      <div class="rung-number">
        <b>{revision}</b>
        {sourceVersion !== undefined && (
          <span class="soft" title="Version at the platform">
            v{sourceVersion}
          </span>
        )}
        {sourceEpoch !== undefined && (
          <span class="soft" title="Rises when the platform lost its store">
            epoch {sourceEpoch}
          </span>
        )}
      </div>
      <div class="rung-body">
        <p class="rung-changes">
          {changes.length === 0 ? <span class="soft">no visible field changed</span> : changes.map(changeText)}
        </p>
        {fill !== undefined && (
          <p>
            filled <b>{fill.quantity}</b>{' '}
            {fill.price !== undefined && (
              <>
                at <b>{fill.price}</b>{' '}
              </>
            )}
            {fill.inferred && (
              <span class="doubt" title="Several fills may be merged in it, or a gap lies between">
                inferred
              </span>
            )}
          </p>
        )}
        <details>
          <summary>Record</summary>
          <pre tabindex={0}>{JSON.stringify(update, null, 2)}</pre>
        </details>
      </div>
      <div class="rung-times">
        <span>
          <Time at={occurredAt} />
        </span>
        <span class="soft" title="From the platform’s own time to the moment the service learnt of it">
          seen by {causeText(cause)}
          {delayMs === undefined ? '' : `, ${signedText(delayMs)}`}
        </span>
        <span class="soft">
          observed <Time at={observedAt} />
        </span>
        {storedAfterMs !== undefined && (
          <span class="soft" title="From there to the database, by two clocks where they are two machines">
            stored {signedText(storedAfterMs)}
          </span>
        )}
      </div>
    </div>
  );
}

function signedText(ms: number): string {
  return `${ms < 0 ? '−' : '+'}${lengthText(Math.abs(ms))}`;
}

function changeText({ field, from, to }: Change): VNode {
  const words = (text: string | undefined) =>
    text === undefined ? 'none' : field === 'status' ? statusText(text) : text;
  return (
    <span class="change">
      <span class="soft">{fieldText(field)}</span>{' '}
      {from !== undefined && (
        <>
          <s>{words(from)}</s> →{' '}
        </>
      )}
      <b>{words(to)}</b>
    </span>
  );
}
