import type { VNode } from 'preact';
import { Facts } from '../../console/parts/facts.tsx';
import { lengthText, timeText } from '../../console/parts/time-text.tsx';
import type { ProofDocument, ProofFigures } from '../break-it/shapes.ts';

interface ProofProps {
  readonly proof: ProofDocument;
  readonly busy: boolean;
  readonly nowMs: number;
  readonly prove: () => void;
}

/**
 * "How do you know?": the platform's own ledger, the database and the topic, compared row by row.
 */
export function DemoProof({ proof, busy, nowMs, prove }: ProofProps): VNode {
  return (
    <section class="panel proof" aria-labelledby="proof-title">
      <header>
        <h2 id="proof-title">How do you know?</h2>
        <button class="main" aria-disabled={busy} onClick={() => !busy && prove()}>
          Compare now
        </button>
      </header>
      <div aria-live="polite">{bodyOf(proof, nowMs)}</div>
    </section>
  );
}

const steps = {
  quiet: 'The market stops for a moment …',
  arriving: 'Waiting until everything has arrived …',
  comparing: 'Comparing row by row …',
} as const;

function bodyOf(proof: ProofDocument, nowMs: number): VNode {
  if (proof.state === 'none')
    return (
      <p class="soft">
        The sandbox writes down every message that it sent and every order that it took. This stops the market for a
        moment, and compares that ledger with the database and with the topic, row by row.
      </p>
    );
  if (proof.state === 'running')
    return (
      <p class="proof-step">
        <progress aria-label="Comparing" /> {steps[proof.step]}
      </p>
    );
  if (proof.state === 'failed') return <p class="fault">It could not be compared: {proof.why}.</p>;
  const { figures, holds, at } = proof;
  return (
    <>
      <p class="proof-verdict">
        <span class={`badge ${holds ? 'good' : 'warn'}`}>{holds ? 'It holds' : 'It does not hold'}</span>
        <span class="soft">
          {timeText(at, nowMs)}, took {lengthText(figures.tookMs)}
        </span>
      </p>
      <Facts class="proof-figures" facts={figuresOf(figures)} />
      <p class="soft">{whyOf(figures)}</p>
      <p class="proof-commands">{commandText(figures.commands)}</p>
      {figures.faults.length > 0 && (
        <ul class="fault">
          {figures.faults.map((fault) => (
            <li>{fault}</li>
          ))}
        </ul>
      )}
    </>
  );
}

function figuresOf(figures: ProofFigures): readonly (readonly [label: string, value: number])[] {
  return [
    ['Lost', figures.lost],
    ['Doubled', figures.doubled],
    ['Out of order', figures.outOfOrder],
    ['Messages', figures.observations],
    ['Changes', figures.updates],
    ...(figures.consumed === undefined ? [] : [['On the topic', figures.consumed] as const]),
    ['Orders', figures.orders],
  ];
}

/** Why there are not as many changes as messages. */
function whyOf({ updates, byReads }: ProofFigures): string {
  const count = (changes: number) => changes.toLocaleString('en');
  return `${count(updates - byReads)} of the changes came by a message. ${count(byReads)} came by none: the orders as the first list showed them, and what later reads and answers found. A message may come twice, or tell nothing new; it makes no second change.`;
}

/** Every command in the journal, by its verdict. */
function commandText(commands: Readonly<Record<string, number>>): string {
  const given = Object.entries(commands);
  if (given.length === 0) return 'No order was placed here yet.';
  const all = given.reduce((sum, [, count]) => sum + count, 0);
  return `${all === 1 ? 'One command' : `${all} commands`} held against the ledger: ${given.map(([state, count]) => `${count} ${state.replaceAll('_', ' ')}`).join(', ')}.`;
}
