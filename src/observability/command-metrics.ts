import { limitNames } from '../domain/limits.ts';
import type { MetricMaker } from './metric-maker.ts';

const commandKinds = ['place', 'replace', 'cancel'];
const resolvedResults = ['refused', 'not_sent', 'applied', 'rejected', 'moot', 'conflict'];
const commandResults = ['accepted', 'refused', 'not_sent', 'unknown', 'applied', 'rejected', 'moot', 'conflict'];
const resolvingEvidence = ['stream', 'snapshot', 'reply', 'probe', 'correction', 'log', 'answer', 'person'] as const;

/** `kind` is place, replace or cancel; `result` a command's state. */
export function commandMetrics({ counter, gauge, histogram }: MetricMaker) {
  return {
    commands: counter(
      'tidemark_commands_total',
      'Commands by the result with which they were first answered: accepted, refused, not_sent, unknown, rejected, or resolved before their answer',
      { kind: commandKinds, result: commandResults },
    ),
    seconds: histogram(
      'tidemark_command_seconds',
      'Time of a command from its submission to its first result, the platform included',
      [0.003, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.5, 5.5, 10.5, 30.5],
      { kind: commandKinds },
    ),
    unresolved: gauge(
      'tidemark_commands_unresolved',
      'Commands whose result is not known (unknown), or has to be resolved by a person (conflict)',
      { kind: commandKinds },
    ),
    oldestUnresolved: gauge(
      'tidemark_commands_oldest_unresolved_timestamp_seconds',
      'When the oldest command that is unresolved, or accepted and not seen since, was sent; 0 when there is none',
    ),
    awaitingVenue: gauge(
      'tidemark_commands_awaiting_venue',
      'Places whose order is there and that its venue has neither taken nor refused yet',
    ),
    resolutions: counter(
      'tidemark_command_resolutions_total',
      'Commands resolved after an answer that did not, by what resolved them: stream, snapshot, reply, probe, correction, log, answer, person',
      { kind: commandKinds, result: resolvedResults, evidence: resolvingEvidence },
    ),
    resolveSeconds: histogram(
      'tidemark_command_resolve_seconds',
      'Time from the last possible send of a command to its resolution, or to the order of a place that awaits its venue',
      [0.05, 0.25, 0.5, 1.5, 2.5, 5.5, 10.5, 30.5, 60.5, 120.5, 600.5, 3600.5],
    ),
    lateLandings: counter(
      'tidemark_command_late_landings_total',
      'Orders that appeared although their command had been resolved as never placed, or was presumed absent',
      { kind: commandKinds },
    ),
    probes: counter(
      'tidemark_command_probes_total',
      'Reads made to find out what became of commands: complete, failed, skipped (no budget left)',
      { result: ['complete', 'failed', 'skipped'] },
    ),
    journalGroups: counter(
      'tidemark_journal_commits_total',
      'Statements that wrote commands, evidence, audit lines and marks of published results, each with one commit',
    ),
    journalWrites: counter(
      'tidemark_journal_writes_total',
      'Writes in these statements: divided by tidemark_journal_commits_total, how many shared a commit',
    ),
    limited: counter(
      'tidemark_command_limit_refusals_total',
      'Places and replaces that were refused by a limit, by the limit; required: a real account without the limits that it must have',
      { limit: [...limitNames, 'required'] },
    ),
    idempotency: counter('tidemark_idempotency_total', 'Commands by their key: new, replayed, reused (another body)', {
      result: ['new', 'replayed', 'reused'],
    }),
    cancelTimers: gauge(
      'tidemark_cancel_timers',
      "Timers of dead man's switches: armed; overdue (run out, and the cancel-all is not written down yet)",
      { state: ['armed', 'overdue'] },
    ),
    cancelAfter: counter(
      'tidemark_cancel_after_total',
      "Dead man's switches that fired: in_hand (each order has its cancel), open (something may be open)",
      { result: ['in_hand', 'open'] },
    ),
    placingHalted: gauge(
      'tidemark_placing_halted',
      'Active halts of placing and replacing, by scope: account, service',
      { scope: ['account', 'service'] },
    ),
  };
}
