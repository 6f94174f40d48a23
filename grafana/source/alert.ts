/** An alerting rule. Durations as Prometheus writes them (`30s`, `2m`). */
export interface Alert {
  /** Also the name of its runbook, docs/runbooks/<name>.md. */
  readonly name: string;
  /**
   * `page`: a person is called at once, because updates or commands can't be
   * trusted now. `ticket`: in working hours.
   */
  readonly severity: 'page' | 'ticket';
  readonly expr: string;
  /** How long it must hold. Left out: one evaluation is enough. */
  readonly for?: string;
  readonly summary: string;
  readonly description: string;
}

/**
 * Where a runbook is shown: a dashboard of its own, so that the link works wherever the dashboards
 * do. The base is an external label of Prometheus.
 */
export function runbookUid(alert: string): string {
  return `runbook-${alert}`;
}

/**
 * The series of the process that holds the lane. A standby, and above all a former holder, still
 * has the gauges of its last term: a timestamp that stands still there says nothing about the data.
 */
export function ofHolder(selector: string): string {
  return `${selector} and on (job, instance) (tidemark_lane_held == 1)`;
}

/**
 * Jobs that are ours. One job for each installation, with all of its instances: `sum by (job)` is
 * then a sentence about one installation.
 */
export const ourJobs = 'job=~"tidemark.*"';
