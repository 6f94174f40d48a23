import type { StatusDocument } from '../../contract/status-answer.ts';

/** One place on the way of the data. */
export interface PipelineStep {
  readonly name: string;
  /** Its figure, and the words after it. */
  readonly figure: string;
  readonly words: string;
  /** Since when the oldest thing there waits; undefined: nothing does. */
  readonly oldest?: string | undefined;
  readonly late?: boolean;
}

/** The bounds for the doubts `rows_not_stored` and `rows_unsent`. */
const storedWithinMs = 10_000;
const sentWithinMs = 30_000;

/**
 * From the sockets to the relay, in the order of the way. `nowMs` is by the reader's clock, so the
 * service's own time is used if it says one.
 */
export function stepsOf(status: StatusDocument): PipelineStep[] {
  const { sources, ingest, lag, updatesPerSecond, relay } = status;
  const connected = sources.filter((source) => source.connected).length;
  const late = isLate(lag.pendingOldest, storedWithinMs, status);
  return [
    {
      name: 'Sockets',
      figure: `${connected} of ${sources.length}`,
      words: ingest.paused || sources.some(({ paused }) => paused) ? 'connected, paused' : 'connected',
      late: connected < sources.length || sources.some(({ paused }) => paused),
    },
    { name: 'Queue', figure: String(ingest.queued), words: 'waiting', late: ingest.paused },
    {
      name: 'Batches',
      figure: String(lag.ingestQueued),
      words: 'not stored yet',
      oldest: lag.pendingOldest ?? undefined,
      late,
    },
    {
      name: 'Postgres',
      figure: rateText(updatesPerSecond),
      words: 'changes a second',
    },
    {
      name: 'Relay',
      figure: relay === null ? '–' : String(relay.heldRows),
      words: relay === null ? 'not in charge' : relay.source === 'memory' ? 'held in memory' : 'reads the log again',
    },
  ];
}

/** The topics in Kafka, each with its waiting rows. */
export function topicsOf(status: StatusDocument): PipelineStep[] {
  const { lag } = status;
  const topic = (name: string, rows: number, oldest?: string | null): PipelineStep => ({
    name,
    figure: String(rows),
    words: 'waiting',
    oldest: oldest ?? undefined,
    late: isLate(oldest ?? null, sentWithinMs, status),
  });
  return [
    topic('Order updates and watermarks', lag.relayRows, lag.relayOldest),
    topic('Order state', lag.stateRows),
    topic('Command results', lag.resultRows),
  ];
}

/** How long the oldest has waited when the service answered, by the service's own clock. */
export function waitedMs(oldest: string, { at }: Pick<StatusDocument, 'at'>): number {
  return Math.max(0, Date.parse(at) - Date.parse(oldest));
}

function isLate(oldest: string | null, withinMs: number, status: StatusDocument): boolean {
  return oldest !== null && waitedMs(oldest, status) > withinMs;
}

export function rateText(rate: number): string {
  return rate < 10 ? rate.toFixed(1) : String(Math.round(rate));
}
