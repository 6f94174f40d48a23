import { percentile } from '../../../bench/percentile.ts';
import type { TopicRecord } from '../../../src/service/log/follow-topic.ts';

interface Span {
  readonly account: string;
  readonly process: string;
  readonly fromMs: number;
  toMs: number;
}

/**
 * The first second may hold what came while the account had no process, and the last what its
 * process had in hand when it was struck.
 */
const edgeMs = 1_000;

/**
 * How late the updates are of accounts that stay with one process while other processes
 * come and go: from the platform's time of the change to the record on Kafka. A span of
 * an account ends where another process serves it, where none does, and where its
 * process is struck. All times are wall time.
 */
export class CalmDelays {
  private readonly open = new Map<string, Span>();
  private readonly ended: Span[] = [];

  /** One look: by each account, the process that serves it and that nothing has struck. */
  look(atMs: number, served: ReadonlyMap<string, string>): void {
    for (const [account, span] of this.open) {
      if (served.get(account) === span.process) continue;
      this.ended.push(span);
      this.open.delete(account);
    }
    for (const [account, process] of served) {
      const span = this.open.get(account) ?? { account, process, fromMs: atMs, toMs: atMs };
      span.toMs = atMs;
      this.open.set(account, span);
    }
  }

  /** Milliseconds, of the updates that came by the stream. */
  delays(records: readonly TopicRecord[]): readonly number[] {
    const spans = Map.groupBy([...this.ended, ...this.open.values()], ({ account }) => account);
    return records.flatMap(({ value = '', timestampMs }) => {
      const { accountId, cause, occurredAt } = JSON.parse(value) as {
        accountId: string;
        cause: string;
        occurredAt: string;
      };
      const atMs = Date.parse(occurredAt);
      const isCalm = spans.get(accountId)?.some(({ fromMs, toMs }) => atMs >= fromMs + edgeMs && atMs <= toMs - edgeMs);
      return cause === 'stream' && isCalm === true ? [timestampMs - atMs] : [];
    });
  }
}

export function describeDelays(delays: readonly number[]): string {
  const [p50, p99, most] = [0.5, 0.99, 1].map((q) => percentile(delays, q));
  return `updates of accounts that stayed with their process: ${delays.length}, late by p50 ${p50} ms, p99 ${p99} ms, longest ${most} ms`;
}
