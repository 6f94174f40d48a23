/** Deadlines and a source's intervals, milliseconds. The defaults are those of docs/merging.md. */
export interface StreamTimings {
  /** We ping this often … */
  readonly pingMs: number;
  /** … and a connection without a byte for this long is dead. */
  readonly idleMs: number;
  /**
   * A subscription that is not answered for this long is asked again;
   * the connection ends where none is answered.
   */
  readonly ackMs: number;
  /**
   * No whole message for this long, though bytes come: half a message, or a platform without
   * heartbeats, which is asked for one. Three heartbeats.
   */
  readonly messageMs: number;
  /** Between one audit's end and the next one's beginning, drawn from 5/6 to 7/6. */
  readonly auditMs: number;
  /** "Complete up to" is sent this often, for all live accounts of a stream together. */
  readonly heartbeatMs: number;
  /** First start: closed orders that changed within this time are read. */
  readonly snapshotMs: number;
  /**
   * How much further back than the last audit the next one looks:
   * a list may show a change that late.
   */
  readonly overlapMs: number;
  /**
   * How much further back than the last complete read the one looks that makes an account live.
   * Later changes are found by the audit.
   */
  readonly resyncOverlapMs: number;
  /** An account that is not enrolled, or was refused, is asked for again this often. */
  readonly notEnrolledMs: number;
  readonly refusedMs: number;
  /**
   * The longest wait between two connections; drawn from zero up
   * (full jitter), doubling from 250 ms.
   */
  readonly reconnectMaxMs: number;
}

export const streamTimingDefaults: StreamTimings = {
  pingMs: 5_000,
  idleMs: 10_000,
  ackMs: 5_000,
  messageMs: 45_000,
  auditMs: 60_000,
  heartbeatMs: 15_000,
  snapshotMs: 7 * 86_400_000,
  overlapMs: 300_000,
  resyncOverlapMs: 30_000,
  notEnrolledMs: 3_600_000,
  refusedMs: 60_000,
  reconnectMaxMs: 30_000,
};
