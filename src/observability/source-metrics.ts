import { streams } from '../domain/order.ts';
import { asSeen, type MetricMaker } from './metric-maker.ts';

/** Of an account. `AccountState` in service/sources/ has their meanings. */
export const sourceStates = [
  'live',
  'resyncing',
  'connecting',
  'down',
  'unanswered',
  'not_enrolled',
  'login_required',
  'frozen',
] as const;
/** `AbsenceCause` in service/sources/ has their meanings. */
export const absenceCauses = ['store_lost', 'forgotten'] as const;
const frameTypes = ['event', 'control', 'unreadable', 'foreign', 'unacknowledged'] as const;

/** `EndReason` in service/sources/ says more. */
export const reconnectReasons = [
  'unauthorized',
  'forbidden',
  'refused',
  'closed',
  'restarting',
  'slow_consumer',
  'connect',
  'timeout',
  'protocol',
  'binary',
  'bad_utf8',
  'oversize',
  'ping_flood',
  'slow_reader',
  'idle',
  'ack_timeout',
  'unsubscribed',
  'no_message',
  'replaced',
  'stopped',
  'store_lost',
] as const;

/** `source` is a stream (`account`, `prediction`): never an account. */
export function sourceMetrics({ counter, gauge, histogram }: MetricMaker) {
  const bySource = { source: streams };
  return {
    state: gauge(
      'tidemark_source_state',
      'Accounts in each state of a source: live, resyncing, connecting, down, unanswered, not_enrolled, login_required, frozen',
      { source: streams, state: sourceStates },
    ),
    lastFrame: gauge(
      'tidemark_source_last_frame_timestamp_seconds',
      'When the last frame of any kind arrived',
      bySource,
    ),
    lastEvent: gauge('tidemark_source_last_event_timestamp_seconds', 'When the last order event arrived', bySource),
    frames: counter(
      'tidemark_source_frames_total',
      'Frames received, by what they were: event, control, unreadable, foreign, unacknowledged (no order id yet)',
      { source: streams, type: frameTypes },
    ),
    reconnects: counter('tidemark_source_reconnects_total', 'Connections given up, by reason', {
      source: streams,
      reason: reconnectReasons,
    }),
    gaps: counter('tidemark_source_gaps_total', 'Times that continuity was lost', bySource),
    decodeFailures: counter(
      'tidemark_source_decode_failures_total',
      'Frames and rows that could not be understood, by reason; each is a dead letter',
      { source: streams, reason: asSeen },
    ),
    resyncSeconds: histogram(
      'tidemark_source_resync_seconds',
      'Time from subscribe acknowledged to live',
      [0.05, 0.1, 0.25, 0.5, 1.5, 2.5, 5.5, 10.5, 30.5, 60.5],
      bySource,
    ),
    lastCompleteRead: gauge(
      'tidemark_source_last_complete_read_timestamp_seconds',
      'When the live account that was read whole longest ago was last read whole, by a resync or an audit; 0 when none is live',
      bySource,
    ),
    unfollowed: gauge(
      'tidemark_source_unfollowed',
      'Account streams that this process ought to follow (by the database, a list of a login, or the settings) and does not, or that no login lists any more',
      bySource,
    ),
    unrecovered: gauge(
      'tidemark_source_unrecovered',
      'Orders and gaps of which the stream brought something that could not be taken and has not been read since: "complete up to" waits for them',
      bySource,
    ),
    inDoubt: gauge(
      'tidemark_source_orders_in_doubt',
      'Orders that wait to be read from REST: fills may have been taken back, or the order is in conflict with itself',
      bySource,
    ),
    absentOrders: gauge(
      'tidemark_source_absent_orders',
      'Orders that we hold open and the platform does not know, by why: store_lost, forgotten',
      { source: streams, cause: absenceCauses },
    ),
    pausedSeconds: counter(
      'tidemark_source_paused_seconds_total',
      'Time for which this process read nothing from sockets of the stream, because the queue before the database was full',
      bySource,
    ),
    noteBytes: gauge(
      'tidemark_source_note_bytes',
      'Bytes that all accounts keep of orders: notes of audits, orders in doubt, absent orders, frames that wait for a lost store; at most TIDEMARK_NOTES_MAX_BYTES',
    ),
    silentLosses: counter(
      'tidemark_source_silent_losses_total',
      'Changes that the audit found and the stream had not delivered 5 s later',
      bySource,
    ),
  };
}
