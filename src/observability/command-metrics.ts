import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** `kind` is place, replace or cancel; `outcome` a command's state. */
export function commandMetrics(registry: Registry) {
  const registers = [registry];
  return {
    commands: new Counter({
      name: 'tidemark_commands_total',
      help: 'Commands by the outcome with which they were first answered: accepted, refused, not_sent, unknown, rejected, or settled before their answer',
      labelNames: ['kind', 'outcome'] as const,
      registers,
    }),
    seconds: new Histogram({
      name: 'tidemark_command_seconds',
      help: 'Time of a command from its submission to its first outcome, the platform included',
      labelNames: ['kind'] as const,
      buckets: [0.003, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.5, 5.5, 10.5, 30.5],
      registers,
    }),
    unresolved: new Gauge({
      name: 'tidemark_commands_unresolved',
      help: 'Commands whose outcome is not known (unknown), or has to be settled by a person (conflict)',
      labelNames: ['kind'] as const,
      registers,
    }),
    oldestUnresolved: new Gauge({
      name: 'tidemark_commands_oldest_unresolved_timestamp_seconds',
      help: 'When the oldest command that is unresolved, or accepted and not seen since, was sent; 0 when there is none',
      registers,
    }),
    awaitingVenue: new Gauge({
      name: 'tidemark_commands_awaiting_venue',
      help: 'Places whose order is there and that its venue has neither taken nor refused yet',
      registers,
    }),
    settlements: new Counter({
      name: 'tidemark_command_settlements_total',
      help: 'Commands settled after an answer that did not, by what settled them: stream, snapshot, reply, probe, correction, log, answer, person',
      labelNames: ['kind', 'outcome', 'evidence'] as const,
      registers,
    }),
    settleSeconds: new Histogram({
      name: 'tidemark_command_settle_seconds',
      help: 'Time from the last possible send of a command to its settlement, or to the order of a place that awaits its venue',
      buckets: [0.05, 0.25, 0.5, 1.5, 2.5, 5.5, 10.5, 30.5, 60.5, 120.5, 600.5, 3600.5],
      registers,
    }),
    lateLandings: new Counter({
      name: 'tidemark_command_late_landings_total',
      help: 'Orders that appeared although their command had been settled as never placed, or was presumed absent',
      labelNames: ['kind'] as const,
      registers,
    }),
    probes: new Counter({
      name: 'tidemark_command_probes_total',
      help: 'Reads made to find out what became of commands: complete, failed, skipped (no budget left)',
      labelNames: ['outcome'] as const,
      registers,
    }),
    journalGroups: new Counter({
      name: 'tidemark_journal_groups_total',
      help: 'Statements that wrote commands, evidence, audit lines and marks of published outcomes, each with one commit',
      registers,
    }),
    journalWrites: new Counter({
      name: 'tidemark_journal_writes_total',
      help: 'Writes in these statements: divided by tidemark_journal_groups_total, how many shared a commit',
      registers,
    }),
    limited: new Counter({
      name: 'tidemark_command_limit_refusals_total',
      help: 'Places and replaces that were refused by a limit, by the limit; required: a real account without the limits that it must have',
      labelNames: ['limit'] as const,
      registers,
    }),
    idempotency: new Counter({
      name: 'tidemark_idempotency_total',
      help: 'Commands by their key: new, replayed, reused (another body)',
      labelNames: ['result'] as const,
      registers,
    }),
    cancelTimers: new Gauge({
      name: 'tidemark_cancel_timers',
      help: "Timers of dead man's switches: armed; overdue (run out, and the cancel-all is not written down yet)",
      labelNames: ['state'] as const,
      registers,
    }),
    cancelAfter: new Counter({
      name: 'tidemark_cancel_after_total',
      help: "Dead man's switches that fired: in_hand (each order has its cancel), open (something may be open)",
      labelNames: ['outcome'] as const,
      registers,
    }),
    placingHalted: new Gauge({
      name: 'tidemark_placing_halted',
      help: 'Active halts of placing and replacing, by scope: account, service',
      labelNames: ['scope'] as const,
      registers,
    }),
  };
}
