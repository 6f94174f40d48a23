import type { Command } from '../domain/command.ts';
import { commandTransition, standingOf } from '../domain/command-machine.ts';
import type { Finding, Verdict } from '../domain/settling.ts';
import type { Decision, SettlingEvidence } from './decision.ts';

const causes: readonly string[] = ['stream', 'snapshot', 'reply', 'probe', 'correction'] satisfies SettlingEvidence[];

/**
 * What a finding makes of its command: verdicts and "seen pending" are steps, if the state machine takes them; everything else is told, not written.
 */
export function decideFinding(command: Command, finding: Finding, atMs: number): Decision | undefined {
  if (finding.kind === 'verdict') return decideVerdict(command, finding, atMs);
  if (finding.kind !== 'reached') return undefined;
  const transition = commandTransition(command.request.kind, standingOf(command), 'reached');
  if (typeof transition === 'string') return undefined;
  const evidence = [{ ...finding.evidence, atMs }];
  return { evidence: 'log', step: { to: transition.to, atMs, seenPendingAt: finding.at, presumedAbsent: false, evidence } };
}

function decideVerdict(command: Command, verdict: Verdict, atMs: number): Decision | undefined {
  const { kind } = command.request;
  const transition = commandTransition(kind, standingOf(command), verdict.event);
  if (typeof transition === 'string') return undefined;
  const { to, alarm } = transition;
  // An answer that denies an order we have bound already is told by the step of that answer.
  if (to === command.state && command.orderId === verdict.orderId) return undefined;
  const { orderId, reason, differs } = verdict;
  const isLanding = kind === 'place' && to !== 'conflict';
  return {
    evidence: settlingEvidence(verdict),
    ...(alarm !== undefined && { lateLanding: true }),
    ...(differs !== undefined && { alarm: `the order differs from what was sent, in ${differs.join(', ')}` }),
    step: {
      to,
      atMs,
      presumedAbsent: false,
      ...(isLanding && { orderId }),
      ...(reason !== undefined && { reason }),
      evidence: [{ ...verdict.evidence, atMs }],
    },
  };
}

function settlingEvidence({ evidence }: Verdict): SettlingEvidence {
  const { cause } = evidence.detail;
  return typeof cause === 'string' && causes.includes(cause) ? (cause as SettlingEvidence) : 'log';
}
