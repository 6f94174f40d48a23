import { type Alert, ofHolder } from './alert.ts';

const silence = ofHolder('(tidemark_source_last_frame_timestamp_seconds > 0)');
const notLive = ofHolder('tidemark_source_state{state=~"connecting|down|unanswered|resyncing|frozen"}');
/** Its sockets are paused, and then cut off: IngestStuck speaks of this instance, and of no other. */
const stuck = 'time() - (tidemark_ingest_oldest_pending_timestamp_seconds > 0) > 30';
/** Refused with a token that is good: else TokenExpiring speaks. */
const refused = ofHolder('tidemark_source_state{state="login_required"}');
const live = ofHolder('tidemark_source_state{state="live"}');
const anyState = ofHolder('tidemark_source_state');
const oldestRead = ofHolder('(tidemark_source_last_complete_read_timestamp_seconds > 0)');
const unrecovered = ofHolder('tidemark_source_unrecovered');
const absentOrders = ofHolder('tidemark_source_absent_orders');
const unfollowed = ofHolder('tidemark_source_unfollowed');
const expiry = ofHolder('(tidemark_token_expiry_timestamp_seconds > 0)');
const signInNeeded = ofHolder('tidemark_credentials{state="login_required"}');

/** The streams of the platform, and being signed in to it. */
export const sourceAlerts: readonly Alert[] = [
  {
    // Pings answer every 5 s, so that 30 s is no quiet market. A process that takes the lane
    // again shows the silence of its former term until its first frame: hence the ten
    // seconds. A socket that the service itself has paused says nothing of the stream:
    // QueueSaturated and IngestStuck speak then.
    name: 'SourceSilent',
    severity: 'page',
    expr: `max by (job, source) ((time() - (${silence})) unless on (job, instance, source) (increase(tidemark_source_paused_seconds_total[1m]) > 0) unless on (job, instance) (${stuck})) > 30
and on (job, source) sum by (job, source) (tidemark_source_state{state!~"not_enrolled|login_required"}) > 0`,
    for: '10s',
    summary: 'The {{ $labels.source }} stream is silent',
    description: 'No frame of any kind, not even an answer to a ping, for {{ $value | humanizeDuration }}.',
  },
  {
    name: 'SourceNeverLive',
    severity: 'page',
    expr: `sum by (job, source) ((${notLive}) unless on (job, instance) (${stuck})) > 0
or (sum by (job) (${anyState}) == 0)
or (sum by (job, source) (${refused}) > 0
unless on (job, source) sum by (job, source) (${live}) > 0
unless on (job) sum by (job) (${signInNeeded}) > 0)`,
    for: '2m',
    summary: 'Accounts are not live{{ with $labels.source }} on the {{ . }} stream{{ end }}',
    description:
      '{{ if $labels.source }}Accounts connecting, down, unanswered, resyncing or frozen, or the whole stream refused, for two minutes: {{ $value }}. What is stored of them may be old.{{ else }}No account is followed at all.{{ end }}',
  },
  {
    // The process has looked for 30 s by then (service/sources/accounts-follower.ts).
    name: 'AccountsUnfollowed',
    severity: 'page',
    expr: `sum by (job, source) (${unfollowed}) > 0`,
    for: '30s',
    summary: 'Accounts that ought to be followed on the {{ $labels.source }} stream are not',
    description:
      'Accounts that the database, a login or the settings name, and that no process follows or no login lists any more: {{ $value }}. What is stored of them is old.',
  },
  {
    // A token is renewed when a fifth of its life is left, at most five minutes: below two minutes
    // several renewals have failed.
    name: 'TokenExpiring',
    severity: 'page',
    expr: `(min by (job) ((${expiry}) - time()) < 120)
or (sum by (job) (${signInNeeded}) > 0)`,
    for: '30s',
    summary: 'We are about to be signed out of the platform, or are already',
    description:
      'An access token ends within two minutes and could not be renewed, or a credential waits for a person to sign in (LOGIN_REQUIRED).',
  },
  {
    // A token that is renewed replaces its connection, and a drain stops it: neither is a fault. One
    // restart of the platform ends every connection once, however many there are: so it counts
    // only what goes on.
    name: 'Flapping',
    severity: 'ticket',
    expr: ['[15m])) > 5.5', '[5m])) > 0', '[5m] offset 5m)) > 0', '[5m] offset 10m)) > 0']
      .map(
        (rest) => `sum by (job, source) (increase(tidemark_source_reconnects_total{reason!~"replaced|stopped"}${rest}`,
      )
      .join(' and '),
    summary: 'The {{ $labels.source }} stream keeps breaking',
    description:
      'Connections given up in 15 minutes: {{ $value | humanize }}. Each costs a complete read of every account.',
  },
  {
    name: 'SilentLosses',
    severity: 'ticket',
    expr: 'sum by (job, source) (increase(tidemark_source_silent_losses_total[1h])) > 0',
    summary: 'The {{ $labels.source }} stream loses changes silently',
    description:
      'Changes that audits found in the last hour and the stream had not delivered 5 s later: {{ $value | humanize }}. They are applied.',
  },
  {
    // Looks are repeated for half a minute each, and two or three
    // audits read the account whole in this time.
    name: 'FramesUnrecovered',
    severity: 'ticket',
    expr: `sum by (job, source) (${unrecovered}) > 0`,
    for: '5m',
    summary: 'Something of the {{ $labels.source }} stream could not be taken, nor read since',
    description:
      'Orders and gaps that nothing has recovered for five minutes: {{ $value }}. "Complete up to" waits for them, or names them.',
  },
  {
    name: 'OrdersAbsent',
    severity: 'ticket',
    expr: `sum by (job, source, cause) (${absentOrders}) > 0`,
    for: '1m',
    summary: 'The platform does not know orders that we hold open',
    description:
      'Orders of the {{ $labels.source }} stream that are open here and unknown there ({{ $labels.cause }}): {{ $value }}. They stay as they are.',
  },
  {
    // Five times the default of TIDEMARK_AUDIT_INTERVAL_MS.
    name: 'ResyncNotRunning',
    severity: 'ticket',
    expr: `max by (job, source) (time() - (${oldestRead})) > 300`,
    for: '1m',
    summary: 'An account of the {{ $labels.source }} stream is not audited',
    description:
      'A live account was last read whole {{ $value | humanizeDuration }} ago. What the stream loses is not found meanwhile.',
  },
];
