/** Deadlines and a source's intervals, milliseconds, as in docs/merging.md. */
export const streamTimingDefaults = {
  /** We ping this often … */
  pingMs: 5_000,
  /** … and a connection without a byte for this long is dead. */
  idleMs: 10_000,
  /**
   * A subscription that is not answered for this long is asked again;
   * the connection ends where none is answered.
   */
  ackMs: 5_000,
  /**
   * No whole message for this long, though bytes come: half a message, or a platform without
   * heartbeats, which is asked for one. Three heartbeats.
   */
  messageMs: 45_000,
  /** Between one audit's end and the next one's beginning, drawn from 5/6 to 7/6. */
  auditMs: 60_000,
  /** "Complete up to" is sent this often, for all live accounts of a stream together. */
  heartbeatMs: 15_000,
  /** First start: closed orders that changed within this time are read. */
  snapshotMs: 7 * 86_400_000,
  /**
   * How much further back than the last audit the next one looks:
   * a list may show a change that late.
   */
  overlapMs: 300_000,
  /**
   * How much further back than the last complete read the one looks that makes an account live.
   * Later changes are found by the audit.
   */
  resyncOverlapMs: 30_000,
  /** An account that is not enrolled, or was refused, is asked for again this often. */
  notEnrolledMs: 3_600_000,
  refusedMs: 60_000,
  /**
   * The longest wait between two connections; drawn from zero up
   * (full jitter), doubling from 250 ms.
   */
  reconnectMaxMs: 30_000,
};

export type StreamTimings = Readonly<typeof streamTimingDefaults>;
