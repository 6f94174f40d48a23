/** Matches the jobs that the reader chose. */
export const job = 'job=~"$job"';

/** A counter's rate. `more` are further matchers, each after a comma. */
export function rateBy(by: string, counter: string, more = ''): string {
  return `sum by (${by}) (rate(${counter}{${job}${more}}[$__rate_interval]))`;
}

/**
 * How often a counter rose between two points of the picture: of
 * rare events a rate says nothing to people.
 */
export function increaseBy(by: string, counter: string, more = ''): string {
  return `sum by (${by}) (increase(${counter}{${job}${more}}[$__rate_interval]))`;
}

export function quantileBy(quantile: number, by: string, histogram: string, more = ''): string {
  return `histogram_quantile(${quantile}, ${rateBy(by === '' ? 'le' : `le, ${by}`, `${histogram}_bucket`, more)})`;
}

/** Over the time shown: the things measured are too rare for a quantile. */
export function meanBy(by: string, histogram: string): string {
  const total = (part: string) => `sum by (${by}) (rate(${histogram}_${part}{${job}}[$__range]))`;
  return `${total('sum')} / ${total('count')}`;
}

/**
 * Seconds since the oldest of the timestamps; 0 where there is none (the gauge is 0 then). Of lane
 * holders: a former holder's timestamps stand still.
 */
export function ageOfOldest(by: string, timestamp: string): string {
  const metric = `${timestamp}{${job}}`;
  return `max by (${by}) ((time() - ${metric}) * (${metric} > bool 0) * on (job, instance) group_left () tidemark_lane_held{${job}})`;
}

/** A gauge of each process. */
export function byInstance(metric: string): string {
  return `max by (job, instance) (${metric}{${job}})`;
}

/** A line of 0 with a name where the query finds nothing: no data would look like a fault. */
export function orNone(expr: string, label: string): string {
  return `${expr} or on () label_replace(vector(0), "${label}", "none", "", "")`;
}
