import { alertAfterS } from '../../src/contract/conditions.ts';
import { type Alert, ofHolder, ourJobs } from './alert.ts';

const oldestUnresolved = ofHolder('(tidemark_commands_oldest_unresolved_timestamp_seconds > 0)');
const budget = 'max by (job) (tidemark_database_budget_bytes > 0)';
const keyReads = 'tidemark_rest_issuer_key_reads_total';
const halts = ofHolder('tidemark_placing_halted');
const unassignedShards = 'tidemark_shards_unassigned and on (job, instance) (tidemark_lane_held == 1)';

/** The processes, their lane, and commands. */
export const serviceAlerts: readonly Alert[] = [
  {
    name: 'TargetDown',
    severity: 'page',
    expr: `up{${ourJobs}} == 0 or absent(up{${ourJobs}})`,
    for: '1m',
    summary: 'Tidemark can not be scraped',
    description:
      '{{ with $labels.instance }}{{ . }} does not answer at its admin port{{ else }}No instance is scraped at all{{ end }}. No other alert speaks for it.',
  },
  {
    // A start takes a lane within a second or two.
    name: 'NoLaneHolder',
    severity: 'page',
    expr: 'sum by (job) (tidemark_lane_held) == 0',
    for: '20s',
    summary: 'No process holds a lane',
    description: 'No instance of {{ $labels.job }} has a lane: nothing is followed, stored, sent or resolved.',
  },
  {
    name: 'ShardsUnassigned',
    severity: 'page',
    // One that stands by has not looked.
    expr: `min by (job) (${unassignedShards}) > 0`,
    for: `${alertAfterS('shards_unassigned')}s`,
    summary: '{{ $value }} shards have no process',
    description:
      'The accounts of these shards are followed by no instance of {{ $labels.job }}, and their commands are declined.',
  },
  {
    // A process that is well again is healthy after a minute, the next times after 2, 4, 8 and 16: only
    // a trouble that stays or comes back is as long as this.
    name: 'Unhealthy',
    severity: 'ticket',
    expr: 'max by (job, instance) (tidemark_unhealthy) > 0',
    for: '5m',
    summary: '{{ $labels.instance }} is unhealthy to follow accounts',
    description:
      'It has had a trouble that another instance does not have, so it gives its shards to the others, which do its work. `tidemark fleet` names the trouble.',
  },
  {
    name: 'Restarting',
    severity: 'ticket',
    expr: `changes(process_start_time_seconds{${ourJobs}}[1h]) > 2.5`,
    summary: '{{ $labels.instance }} keeps restarting',
    description: 'It began anew {{ $value }} times within an hour. Each time every account is read whole again.',
  },
  {
    // A client can't see the server's disk: it is told how much the database may take, and without
    // that there is no alert. The forecast counts from half the budget on: the first reads of a new
    // database would foretell terabytes, and so would the 0 of a process that has not measured yet.
    name: 'DatabaseFilling',
    severity: 'ticket',
    expr: `max by (job) (tidemark_database_bytes) > 0.8 * ${budget}
or (max by (job) (predict_linear((tidemark_database_bytes > 0)[6h:1m], 3 * 86400)) > ${budget}
and on (job) max by (job) (tidemark_database_bytes) > 0.5 * ${budget})`,
    for: '15m',
    summary: 'The database fills its disk',
    description:
      'It takes more than 80 % of TIDEMARK_DATABASE_BUDGET_MB, or will have used all of it in three days ({{ $value | humanize1024 }}B).',
  },
  {
    name: 'CommandUnknown',
    severity: 'page',
    expr: `max by (job) (time() - (${oldestUnresolved})) > ${alertAfterS('commands_unresolved')}`,
    summary: 'The result of a command is not known',
    description:
      'A command sent {{ $value | humanizeDuration }} ago is unknown, in conflict, or accepted and not seen since. It may be live at the venue.',
  },
  {
    name: 'CancelAfterIncomplete',
    severity: 'page',
    expr: `sum by (job) (tidemark_cancel_timers{state="overdue"}) > 0 or sum by (job) (increase(tidemark_cancel_after_total{result="open"}[1h])) > 0`,
    for: '1m',
    summary: "A dead man's switch may have left orders open",
    description: 'A principal fell silent, and not every open order of its account has its cancel.',
  },
  {
    name: 'PlacingHalted',
    severity: 'page',
    // Each instance knows the halts of all: their sum would say as
    // many times one halt as there are instances.
    expr: `max by (job, scope) (${halts}) > 0`,
    summary: 'Placing and replacing are halted',
    description:
      'Halts of scope {{ $labels.scope }} in force: {{ $value }}. Cancels still pass. Only a person ends a halt.',
  },
  {
    // While it fails it is read every 5 to 10 s, else once a minute. Tokens live for an hour or
    // less: soon no caller has one.
    name: 'IssuerUnreachable',
    severity: 'page',
    expr: `sum by (job, instance) (increase(${keyReads}{result="failed"}[5m])) > 0
unless sum by (job, instance) (increase(${keyReads}{result="ok"}[5m])) > 0`,
    for: '2m',
    summary: '{{ $labels.instance }} can not read the keys of the issuer of JWTs',
    description:
      'Reads that failed in 5 minutes: {{ $value | humanize }}. Tokens by the keys read before stay good; the issuer signs no new ones, and after a restart none is accepted.',
  },
];
