import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** `source` is a stream (`account`, `prediction`): never an account. */
export function sourceMetrics(registry: Registry) {
  const registers = [registry];
  return {
    state: new Gauge({
      name: 'tidemark_source_state',
      help: 'Accounts in each state of a source: live, resyncing, connecting, down, unanswered, not_enrolled, login_required, frozen',
      labelNames: ['source', 'state'] as const,
      registers,
    }),
    lastFrame: new Gauge({
      name: 'tidemark_source_last_frame_timestamp_seconds',
      help: 'When the last frame of any kind arrived',
      labelNames: ['source'] as const,
      registers,
    }),
    lastEvent: new Gauge({
      name: 'tidemark_source_last_event_timestamp_seconds',
      help: 'When the last order event arrived',
      labelNames: ['source'] as const,
      registers,
    }),
    frames: new Counter({
      name: 'tidemark_source_frames_total',
      help: 'Frames received, by what they were: event, control, unreadable, foreign',
      labelNames: ['source', 'type'] as const,
      registers,
    }),
    reconnects: new Counter({
      name: 'tidemark_source_reconnects_total',
      help: 'Connections given up, by reason',
      labelNames: ['source', 'reason'] as const,
      registers,
    }),
    gaps: new Counter({
      name: 'tidemark_source_gaps_total',
      help: 'Times that continuity was lost',
      labelNames: ['source'] as const,
      registers,
    }),
    decodeFailures: new Counter({
      name: 'tidemark_source_decode_failures_total',
      help: 'Frames and rows that could not be understood, by reason; each is in quarantine',
      labelNames: ['source', 'reason'] as const,
      registers,
    }),
    resyncSeconds: new Histogram({
      name: 'tidemark_source_resync_seconds',
      help: 'Time from subscribe acknowledged to live',
      labelNames: ['source'] as const,
      buckets: [0.05, 0.1, 0.25, 0.5, 1.5, 2.5, 5.5, 10.5, 30.5, 60.5],
      registers,
    }),
    lastCompleteRead: new Gauge({
      name: 'tidemark_source_last_complete_read_timestamp_seconds',
      help: 'When the live account that was read whole longest ago was last read whole, by a resync or an audit; 0 when none is live',
      labelNames: ['source'] as const,
      registers,
    }),
    unfollowed: new Gauge({
      name: 'tidemark_source_unfollowed',
      help: 'Account streams that this process ought to follow (by the database, a list of a login, or the settings) and does not, or that no login lists any more',
      labelNames: ['source'] as const,
      registers,
    }),
    unrecovered: new Gauge({
      name: 'tidemark_source_unrecovered',
      help: 'Orders and gaps of which the stream brought something that could not be taken and has not been read since: "complete up to" waits for them',
      labelNames: ['source'] as const,
      registers,
    }),
    inDoubt: new Gauge({
      name: 'tidemark_source_orders_in_doubt',
      help: 'Orders that wait to be read from REST: fills may have been taken back, or the order is in conflict with itself',
      labelNames: ['source'] as const,
      registers,
    }),
    absentOrders: new Gauge({
      name: 'tidemark_source_absent_orders',
      help: 'Orders that we hold open and the platform does not know, by why: store_lost, forgotten',
      labelNames: ['source', 'cause'] as const,
      registers,
    }),
    pausedSeconds: new Counter({
      name: 'tidemark_source_paused_seconds_total',
      help: 'Time for which this process read nothing from sockets of the stream, because the queue before the database was full',
      labelNames: ['source'] as const,
      registers,
    }),
    noteBytes: new Gauge({
      name: 'tidemark_source_note_bytes',
      help: 'Bytes that all accounts keep of orders: notes of audits, orders in doubt, absent orders, frames that wait for a lost store; at most TIDEMARK_NOTES_MAX_BYTES',
      registers,
    }),
    silentLosses: new Counter({
      name: 'tidemark_source_silent_losses_total',
      help: 'Changes that the audit found and the stream had not delivered 5 s later',
      labelNames: ['source'] as const,
      registers,
    }),
  };
}
