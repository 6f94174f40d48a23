import type { VNode } from 'preact';
import type { Stream } from '../../../types/records.d.ts';
import { Link } from '../../console/parts/link.tsx';
import { lengthText, timeText } from '../../console/parts/time-text.tsx';
import { addressOf, orderAddress } from '../../console/state/address.ts';
import type { IncidentDocument, IncidentLine } from '../break-it/shapes.ts';
import { faultLabel } from './fault-words.ts';

interface StoryProps {
  readonly incident: IncidentDocument;
  readonly nowMs: number;
  /** Only its first line is shown until the reader opens it. */
  readonly folded?: boolean;
  readonly resolve: (commandId: string) => void;
}

/** Everything after one press of a button, line by line as it came. */
export function IncidentStory({ incident, nowMs, folded = false, resolve }: StoryProps): VNode {
  const { fault, state, at, harmed, recovered, endedAfterMs, commandId, lines } = incident;
  const title = (
    <>
      <span class="story-title">{faultLabel(fault)}</span>
      <span class={`badge ${badges[state].tone}`}>
        {badges[state].text}
        {endedAfterMs === undefined ? '' : ` after ${lengthText(endedAfterMs)}`}
      </span>
      <span class="soft story-time">{timeText(at, nowMs)}</span>
    </>
  );
  const body = (
    <>
      <ol class="story" aria-label={`What followed: ${faultLabel(fault)}`} aria-live={folded ? 'off' : 'polite'}>
        {lines.map(lineView)}
      </ol>
      {harmed > 0 && <p class="story-count">{countText(harmed, recovered)}</p>}
      {commandId !== undefined && (
        <p class="actions story-buttons">
          {state === 'waits' && <button onClick={() => resolve(commandId)}>Resolve it as rejected</button>}
          <Link to={addressOf('command', { commandId })}>Open the command</Link>
        </p>
      )}
    </>
  );
  if (folded)
    return (
      <details class="panel incident">
        <summary>{title}</summary>
        {body}
      </details>
    );
  return (
    <article class="panel incident">
      <h2>{title}</h2>
      {body}
    </article>
  );
}

const badges: Readonly<Record<IncidentDocument['state'], { readonly text: string; readonly tone: string }>> = {
  under_way: { text: 'Healing …', tone: '' },
  waits: { text: 'A person has to decide', tone: 'warn' },
  healed: { text: 'Healed', tone: 'good' },
  stuck: { text: 'Not healed', tone: 'warn' },
};

const kinds: Readonly<Record<IncidentLine['kind'], string>> = {
  action: 'Fault',
  harm: 'Hit',
  doubt: 'Doubt',
  doubt_gone: 'Doubt gone',
  evidence: 'Evidence',
  wait: 'Waits',
  end: 'End',
};

function lineView({ afterMs, kind, text, order }: IncidentLine): VNode {
  return (
    <li class={`story-line story-${kind}`}>
      <span class="story-after">{(afterMs / 1000).toFixed(1)} s</span>
      <b class="story-kind">{kinds[kind]}</b>
      <span class="story-text">{text}</span>
      {order !== undefined && (
        <Link to={orderAddress({ stream: order.stream as Stream, orderId: order.orderId })}>Order</Link>
      )}
    </li>
  );
}

function countText(harmed: number, recovered: number): string {
  const changes = harmed === 1 ? 'One change' : `${harmed} changes`;
  return `${changes} met the fault; ${recovered === harmed ? 'here by now: all' : `here by now: ${recovered}`}.`;
}
