import type { Dashboard } from './dashboard.ts';
import type { Panel } from './panel.ts';
import { ageOfOldest, increaseBy, job, quantileBy, rateBy } from './queries.ts';

const verdict: readonly Panel[] = [
  {
    kind: 'verdict',
    title: 'Trusted?',
    description:
      'Doubts about what is stored and published: no lane holder, a shard without a process, an account not live, none live, no heartbeat back from Kafka for 60 s, a row unsent for 30 s, a stream silent for 30 s. 0: what you read is what the platform says, up to seconds. No data is no yes.',
    unit: 'none',
    queries: [{ expr: `max(job:tidemark_doubts:sum{${job}})`, legend: 'doubts' }],
    limits: { red: 1 },
    words: { '0': 'YES' },
  },
  {
    kind: 'figure',
    title: 'Pages',
    description: 'Alerts of severity page that fire now.',
    unit: 'none',
    queries: [
      { expr: 'count(ALERTS{alertstate="firing",severity="page",job=~"$job|"}) or vector(0)', legend: 'pages' },
    ],
    limits: { red: 1 },
  },
  {
    kind: 'figure',
    title: 'Lanes held',
    description: 'Processes that hold a lane: all that run.',
    unit: 'none',
    queries: [{ expr: `sum(tidemark_lane_held{${job}})`, legend: 'holders' }],
    limits: { red: 1, below: true },
    runbooks: ['NoLaneHolder', 'TargetDown'],
  },
  {
    kind: 'figure',
    title: 'Not live',
    description:
      'Accounts whose stored orders may be old: connecting, down, resyncing, frozen or waiting for a sign-in.',
    unit: 'none',
    queries: [{ expr: `sum(tidemark_source_state{${job},state!~"live|not_enrolled"})`, legend: 'accounts' }],
    limits: { red: 1 },
    runbooks: ['SourceNeverLive', 'SourceSilent'],
  },
  {
    kind: 'figure',
    title: 'Canary',
    description: 'Since a heartbeat last came back from Kafka: the whole way, every 15 s while an account is live.',
    unit: 's',
    queries: [
      { expr: `time() - min(max by (job) (tidemark_canary_last_roundtrip_timestamp_seconds{${job}}))`, legend: 'age' },
    ],
    limits: { amber: 30, red: 60 },
    runbooks: ['CanaryStale'],
  },
  {
    kind: 'figure',
    title: 'Unsent',
    description: 'Age of the oldest committed row that Kafka has not acknowledged; 0 when there is none.',
    unit: 's',
    queries: [{ expr: ageOfOldest('job', 'tidemark_log_oldest_pending_timestamp_seconds'), legend: 'age' }],
    limits: { amber: 5, red: 30 },
    runbooks: ['RelayStuck'],
  },
  {
    kind: 'figure',
    title: 'Unresolved',
    description: 'Commands whose result is not known, or that a person has to resolve.',
    unit: 'none',
    queries: [{ expr: `sum(tidemark_commands_unresolved{${job}})`, legend: 'commands' }],
    limits: { amber: 1, red: 3 },
    runbooks: ['CommandUnknown'],
  },
  {
    kind: 'figure',
    title: 'Halts',
    description: 'Halts of placing and replacing. Cancels pass all the time.',
    unit: 'none',
    queries: [{ expr: `sum(max by (job, scope) (tidemark_placing_halted{${job}}))`, legend: 'halts' }],
    limits: { red: 1 },
    runbooks: ['PlacingHalted'],
  },
];

const total = ',stage="total"';

const freshness: readonly Panel[] = [
  {
    kind: 'lines',
    title: 'Socket to Kafka',
    description:
      'Time of an update from the frame to the acknowledgement of Kafka. Without updates there is nothing to show.',
    unit: 's',
    queries: [
      { expr: quantileBy(0.5, '', 'tidemark_latency_seconds', total), legend: 'p50' },
      { expr: quantileBy(0.99, '', 'tidemark_latency_seconds', total), legend: 'p99' },
    ],
    limits: { red: 0.25 },
    runbooks: ['FreshnessBurn'],
  },
  {
    kind: 'lines',
    title: 'p99 by stage',
    description: 'Where the time goes: receive_to_commit is queue and database, commit_to_ack is relay and Kafka.',
    unit: 's',
    queries: [{ expr: quantileBy(0.99, 'stage', 'tidemark_latency_seconds'), legend: '{{stage}}' }],
  },
  {
    kind: 'lines',
    title: 'Late updates',
    description:
      'Share of the updates that took longer than 0.25 s. 1 % is allowed; a page comes at 14.4 % over 5 minutes and an hour, or at 6 % over 30 minutes and six hours.',
    unit: 'percentunit',
    queries: ['5m', '30m', '1h', '6h'].map((window) => ({
      expr: `job:tidemark_updates_late:ratio_rate${window}{${job}}`,
      legend: `{{job}} ${window}`,
    })),
    limits: { amber: 0.01, red: 0.06 },
    runbooks: ['FreshnessBurn'],
  },
];

const sources: readonly Panel[] = [
  {
    kind: 'stacked',
    title: 'Accounts by state',
    description:
      'live is good, not_enrolled is no fault; any other state means that stored orders of those accounts may be old.',
    unit: 'none',
    queries: [{ expr: `sum by (source, state) (tidemark_source_state{${job}})`, legend: '{{source}} {{state}}' }],
    colours: {
      ' live$': 'green',
      ' not_enrolled$': 'blue',
      ' connecting$| resyncing$': 'yellow',
      ' down$| frozen$| login_required$| unanswered$': 'red',
    },
    runbooks: ['SourceNeverLive'],
  },
  {
    kind: 'lines',
    title: 'Silence',
    description: 'Since the last frame of any kind. An answered ping counts, so that a quiet market stays below 5 s.',
    unit: 's',
    queries: [{ expr: ageOfOldest('source', 'tidemark_source_last_frame_timestamp_seconds'), legend: '{{source}}' }],
    limits: { red: 30 },
    runbooks: ['SourceSilent'],
  },
  {
    kind: 'lines',
    title: 'Since the last order event',
    description: 'Grows while markets are closed; no fault by itself. 0: none since the start.',
    unit: 's',
    queries: [{ expr: ageOfOldest('source', 'tidemark_source_last_event_timestamp_seconds'), legend: '{{source}}' }],
    runbooks: ['EventsStale'],
  },
  {
    kind: 'lines',
    title: 'Frames',
    description: 'Frames received, by what they were. unreadable and foreign should be none.',
    unit: 'ops',
    queries: [
      {
        expr: rateBy('source, type', 'tidemark_source_frames_total'),
        legend: '{{source}} {{type}}',
      },
    ],
  },
  {
    kind: 'lines',
    title: 'Connections given up',
    description: 'By reason. replaced and stopped are our own doing.',
    unit: 'none',
    queries: [
      {
        expr: increaseBy('source, reason', 'tidemark_source_reconnects_total'),
        legend: '{{source}} {{reason}}',
      },
    ],
    runbooks: ['Flapping'],
  },
  {
    kind: 'lines',
    title: 'Time left of the access token',
    description: 'Of the token that ends first. Renewed at a fifth of its life or five minutes, whichever is less.',
    unit: 's',
    queries: [
      {
        expr: `min by (job) ((tidemark_token_expiry_timestamp_seconds{${job}} > 0) - time())`,
        legend: '{{job}}',
      },
    ],
    limits: { amber: 240, red: 120, below: true },
    runbooks: ['TokenExpiring'],
  },
  {
    kind: 'lines',
    title: 'Credentials by state',
    description: 'login_required: a person has to sign in with `tidemark link`.',
    unit: 'none',
    queries: [{ expr: `sum by (state) (tidemark_credentials{${job}})`, legend: '{{state}}' }],
    colours: { '^held$': 'green', '^waiting$': 'yellow', '^login_required$': 'red' },
    runbooks: ['TokenExpiring'],
  },
  {
    kind: 'alerts',
    title: 'Alerts',
    description: 'What fires or is about to; each names its runbook.',
    unit: 'none',
    queries: [],
    width: 16,
  },
];

/** What an on-call engineer opens first. */
export const overview: Dashboard = {
  uid: 'tidemark-overview',
  title: 'Tidemark',
  description:
    'Whether what Tidemark says can be trusted now, how fresh it is, and how the streams of the platform are.',
  rows: [
    { title: 'Verdict', panels: verdict },
    { title: 'Freshness', panels: freshness },
    { title: 'Sources', panels: sources },
  ],
};
