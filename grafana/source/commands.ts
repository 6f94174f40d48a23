import type { Dashboard } from './dashboard.ts';
import type { Panel } from './panel.ts';
import { ageOfOldest, increaseBy, job, meanBy, quantileBy, rateBy } from './queries.ts';

const answerColours = { '^2xx$': 'green', '^3xx$': 'blue', '^4xx$': 'yellow', '^5xx$|^none$': 'red' } as const;

const commandPanels: readonly Panel[] = [
  {
    kind: 'lines',
    title: 'Unresolved',
    description: 'Commands with a result that is not known (unknown), or that a person has to resolve (conflict).',
    unit: 'none',
    queries: [{ expr: `sum by (kind) (tidemark_commands_unresolved{${job}})`, legend: '{{kind}}' }],
    limits: { amber: 1, red: 3 },
    runbooks: ['CommandUnknown'],
  },
  {
    kind: 'lines',
    title: 'Age of the oldest unresolved',
    description: 'Also of those accepted and not seen since. 0 when there is none.',
    unit: 's',
    queries: [{ expr: ageOfOldest('job', 'tidemark_commands_oldest_unresolved_timestamp_seconds'), legend: 'oldest' }],
    limits: { amber: 10, red: 60 },
    runbooks: ['CommandUnknown'],
  },
  {
    kind: 'lines',
    title: 'Places that await the venue',
    description:
      'Their orders are there and pending at the venue: followed like any open order, neither probed nor counted as unresolved.',
    unit: 'none',
    queries: [{ expr: `sum(tidemark_commands_awaiting_venue{${job}})`, legend: 'places' }],
  },
  {
    kind: 'lines',
    title: 'Halts of placing',
    description: 'Each ends only by a person with a reason (`tidemark resume`).',
    unit: 'none',
    queries: [{ expr: `max by (scope) (tidemark_placing_halted{${job}})`, legend: '{{scope}}' }],
    limits: { red: 1 },
    runbooks: ['PlacingHalted'],
  },
  {
    kind: 'stacked',
    title: 'Commands by first result',
    description: 'Commands by the result with which they were first answered.',
    unit: 'ops',
    queries: [{ expr: rateBy('kind, result', 'tidemark_commands_total'), legend: '{{kind}} {{result}}' }],
  },
  {
    kind: 'lines',
    title: 'Time to the first result, p99',
    description: 'From submission, the platform included.',
    unit: 's',
    queries: [{ expr: quantileBy(0.99, 'kind', 'tidemark_command_seconds'), legend: '{{kind}}' }],
  },
  {
    kind: 'stacked',
    title: 'Resolved by',
    description: 'What resolved commands whose answer had not: the stream is quickest, a person is last.',
    unit: 'ops',
    queries: [{ expr: rateBy('evidence', 'tidemark_command_resolutions_total'), legend: '{{evidence}}' }],
  },
  {
    kind: 'lines',
    title: 'Time to resolve',
    description:
      'From the last possible send to the resolution, or to the order where only the venue is waited for: mean over the time shown.',
    unit: 's',
    queries: [
      {
        expr: meanBy('job', 'tidemark_command_resolve_seconds'),
        legend: 'mean',
      },
    ],
    limits: { amber: 10, red: 60 },
    runbooks: ['CommandUnknown'],
  },
  {
    kind: 'lines',
    title: 'Probes',
    description: 'Reads made to find out what became of commands. skipped: the budget was used up.',
    unit: 'ops',
    queries: [{ expr: rateBy('result', 'tidemark_command_probes_total'), legend: '{{result}}' }],
  },
  {
    kind: 'lines',
    title: 'Writes in one commit',
    description:
      'What the journal, the audit trail and the results wrote together, mean over the time shown. A group has 50 at most: near it, commands wait for Postgres.',
    unit: 'none',
    queries: [
      {
        expr: `${rateBy('job', 'tidemark_journal_writes_total')} / (${rateBy('job', 'tidemark_journal_commits_total')} > 0)`,
        legend: 'mean',
      },
    ],
    limits: { amber: 20, red: 40 },
  },
  {
    kind: 'lines',
    title: 'Late landings, keys used again',
    description:
      'Orders that appeared although their command had been resolved otherwise (each halts placing), and repeated keys.',
    unit: 'none',
    queries: [
      {
        expr: increaseBy('kind', 'tidemark_command_late_landings_total'),
        legend: 'late {{kind}}',
      },
      {
        expr: increaseBy('result', 'tidemark_idempotency_total', ',result!="new"'),
        legend: 'key {{result}}',
      },
    ],
    runbooks: ['PlacingHalted'],
  },
  {
    kind: 'lines',
    title: "Dead man's switches",
    description: 'Timers that are armed; overdue: run out, and the cancel-all is not written down yet.',
    unit: 'none',
    queries: [{ expr: `sum by (state) (tidemark_cancel_timers{${job}})`, legend: '{{state}}' }],
    runbooks: ['CancelAfterIncomplete'],
  },
  {
    kind: 'lines',
    title: "Dead man's switches that fired",
    description: 'in_hand: each open order got its cancel. open: some may be open.',
    unit: 'none',
    queries: [{ expr: increaseBy('result', 'tidemark_cancel_after_total'), legend: '{{result}}' }],
    runbooks: ['CancelAfterIncomplete'],
  },
  {
    kind: 'lines',
    title: 'Refused by a limit',
    description:
      'Places and replaces that a limit refused, or could not judge. required: a real account without the limits that it must have.',
    unit: 'none',
    queries: [{ expr: increaseBy('limit', 'tidemark_command_limit_refusals_total'), legend: '{{limit}}' }],
  },
  {
    kind: 'lines',
    title: 'Platform, p99 by operation',
    description: 'Time of one request to the platform.',
    unit: 's',
    queries: [
      {
        expr: quantileBy(0.99, 'operation', 'tidemark_platform_request_seconds'),
        legend: '{{operation}}',
      },
    ],
  },
  {
    kind: 'stacked',
    title: 'Platform, answers',
    description: 'Requests to the platform by class of answer; none: no answer came.',
    unit: 'reqps',
    queries: [{ expr: rateBy('code_class', 'tidemark_platform_request_seconds_count'), legend: '{{code_class}}' }],
    colours: answerColours,
  },
  {
    kind: 'lines',
    title: 'Requests held for the limit of a venue',
    description: 'They waited, so that the last requests of the minute stay for those that go first.',
    unit: 'none',
    queries: [{ expr: increaseBy('purpose', 'tidemark_platform_requests_held_total'), legend: '{{purpose}}' }],
  },
  {
    kind: 'lines',
    title: 'Token renewals',
    description: 'Attempts to get a new access token.',
    unit: 'ops',
    queries: [{ expr: rateBy('result', 'tidemark_token_refresh_total'), legend: '{{result}}' }],
    runbooks: ['TokenExpiring'],
  },
];

const rest: readonly Panel[] = [
  {
    kind: 'lines',
    title: 'Requests by route',
    description: 'Requests that REST and the admin port answered, under the pattern of their route.',
    unit: 'reqps',
    queries: [{ expr: rateBy('method, route', 'http_request_duration_seconds_count'), legend: '{{method}} {{route}}' }],
  },
  {
    kind: 'lines',
    title: 'p99 by route',
    description: 'Time to answer. Requests with Prefer: wait hold their answer on purpose.',
    unit: 's',
    queries: [
      {
        expr: quantileBy(0.99, 'method, route', 'http_request_duration_seconds'),
        legend: '{{method}} {{route}}',
      },
    ],
  },
  {
    kind: 'stacked',
    title: 'Answers by class',
    description: '5xx are ours; 503 during a drain or on a standby is expected.',
    unit: 'reqps',
    queries: [{ expr: rateBy('code_class', 'http_request_duration_seconds_count'), legend: '{{code_class}}' }],
    colours: answerColours,
  },
  {
    kind: 'lines',
    title: 'Not signed in',
    description: 'Requests refused because their token names no caller (401).',
    unit: 'ops',
    queries: [{ expr: rateBy('reason', 'tidemark_rest_auth_failures_total'), legend: '{{reason}}' }],
  },
  {
    kind: 'lines',
    title: 'Keys of the issuer',
    description:
      'Reads of the public keys by which JWTs are judged, ok or failed. A failed one leaves those in force that are known.',
    unit: 'ops',
    queries: [{ expr: rateBy('result', 'tidemark_rest_issuer_key_reads_total'), legend: '{{result}}' }],
    runbooks: ['IssuerUnreachable'],
  },
  {
    kind: 'lines',
    title: 'Connections',
    description:
      'Sockets of REST and of the admin port. Strangers are those on which nobody has signed in; the oldest of them make room.',
    unit: 'none',
    queries: [
      {
        expr: `sum by (instance, port, kind) (tidemark_http_connections{${job}})`,
        legend: '{{port}} {{kind}} {{instance}}',
      },
    ],
  },
  {
    kind: 'lines',
    title: 'Connections ended',
    description: 'Sockets that made room because every place was taken, or that had too many requests at once.',
    unit: 'none',
    queries: [{ expr: increaseBy('reason', 'tidemark_http_connections_ended_total'), legend: '{{reason}}' }],
  },
  {
    kind: 'lines',
    title: 'Readers of the stream',
    description: 'Open readers of GET /v1/stream.',
    unit: 'none',
    queries: [{ expr: `sum by (instance) (tidemark_rest_stream_clients{${job}})`, legend: '{{instance}}' }],
  },
  {
    kind: 'lines',
    title: 'Readers that had to read anew',
    description: 'slow_reader: the reader does not keep up; too_old and unknown_id: it came back too late.',
    unit: 'none',
    queries: [{ expr: increaseBy('reason', 'tidemark_rest_stream_resets_total'), legend: '{{reason}}' }],
  },
  {
    kind: 'lines',
    title: 'Reads under way',
    description:
      'Rows of reads under way (2,000 at most), and reads that wait for room. Commands do not wait with them.',
    unit: 'none',
    queries: [
      { expr: `sum by (instance) (tidemark_rest_read_rows{${job}})`, legend: 'rows {{instance}}' },
      { expr: `sum by (instance) (tidemark_rest_reads_waiting{${job}})`, legend: 'waiting {{instance}}' },
    ],
  },
  {
    kind: 'lines',
    title: 'Answers not taken',
    description: 'Bytes of answers that callers have not taken yet: 4 MiB of one principal, then it reads nothing new.',
    unit: 'bytes',
    queries: [{ expr: `sum by (instance) (tidemark_rest_held_bytes{${job}})`, legend: '{{instance}}' }],
  },
  {
    kind: 'lines',
    title: 'Readers refused and cut',
    description: 'Refused: 429, too many reads of one principal at once. Cut: the answer was not taken within 30 s.',
    unit: 'none',
    queries: [
      { expr: increaseBy('instance', 'tidemark_rest_reads_refused_total'), legend: 'refused {{instance}}' },
      { expr: increaseBy('instance', 'tidemark_rest_slow_readers_total'), legend: 'cut {{instance}}' },
    ],
  },
];

/** Orders that callers send, and REST. */
export const commandsDashboard: Dashboard = {
  uid: 'tidemark-commands',
  title: 'Tidemark: commands and REST',
  description: 'What callers sent, what became of it, and how REST answers.',
  rows: [
    { title: 'Commands', panels: commandPanels },
    { title: 'REST', panels: rest },
  ],
};
