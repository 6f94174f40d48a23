import type { Stream } from '../../../src/domain/order.ts';

/** The part of a record of the log that is looked at. Instants are ISO 8601. */
export interface LoggedChange {
  readonly stream: Stream;
  readonly accountId: string;
  readonly cause: string;
  readonly observedAt: string;
}

interface LoggedMark {
  readonly stream: Stream;
  readonly accountIds: readonly string[];
  readonly event: string;
  readonly at: string;
}

/**
 * Wall clocks are set wrong by whole hours: a larger distance
 * is that of two clocks, and shows nothing.
 */
const sameClockMs = 30 * 60_000;

/**
 * "Complete up to" in the log held against the rows behind it (docs/guarantees.md 30): a
 * change that its stream brought before that time is in the log before the mark, or the
 * mark promised what was not committed yet.
 */
export class MarkWatch {
  private readonly completeUpToMs = new Map<string, number>();

  mark({ stream, accountIds, event, at }: LoggedMark): void {
    if (event !== 'heartbeat') return;
    for (const accountId of accountIds) this.completeUpToMs.set(`${stream}:${accountId}`, Date.parse(at));
  }

  /**
   * What is wrong with a change that comes into the log now, as a sentence; undefined: nothing is.
   */
  breachOf({ stream, accountId, cause, observedAt }: LoggedChange): string | undefined {
    if (cause !== 'stream') return undefined;
    const name = `${stream}:${accountId}`;
    const lateMs = (this.completeUpToMs.get(name) ?? Number.NEGATIVE_INFINITY) - Date.parse(observedAt);
    if (lateMs <= 0 || lateMs > sameClockMs) return undefined;
    return `${name} was called complete up to ${lateMs} ms behind a change that comes into the log only now`;
  }

  /** The database came back without its newest commits: what was said before is of no meaning. */
  forget(): void {
    this.completeUpToMs.clear();
  }
}
