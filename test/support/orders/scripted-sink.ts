import type { Doubt } from '../../../src/domain/head.ts';
import type { IngestItem, Observation, ObservationResult } from '../../../src/domain/observation.ts';
import type { ObservationSink } from '../../../src/service/sources/observation-sink.ts';

/**
 * A sink for tests of one step of the connectors: it keeps what it is offered, and settles it at
 * once with the result that the test says.
 */
export class ScriptedSink implements ObservationSink {
  readonly items: IngestItem[] = [];
  full = false;
  result: (observation: Observation) => ObservationResult = () => 'applied';
  /** The doubt that each observation raises. */
  doubt: (observation: Observation) => Doubt | 'dead_lettered' | undefined = () => undefined;
  settle: () => Promise<void> = async () => undefined;
  private readonly listeners = new Set<() => void>();

  offer(item: IngestItem): void {
    this.items.push(item);
    if (item.kind !== 'order') return;
    item.onResult?.(this.result(item));
    const doubt = this.doubt(item);
    if (doubt !== undefined) item.onDoubt?.(item, doubt, 1);
  }

  onRoom(callback: () => void): () => void {
    this.listeners.add(callback);
    return () => this.listeners.delete(callback);
  }

  committed(): Promise<void> {
    return this.settle();
  }

  makeRoom(): void {
    this.full = false;
    for (const listener of [...this.listeners]) listener();
  }

  get observations(): Observation[] {
    return this.items.filter((item) => item.kind === 'order');
  }

  /** Watermarks of one account as `event`, in order. */
  marks(accountId: string): string[] {
    return this.items.flatMap((item) =>
      item.kind === 'watermarks' && item.accountIds.includes(accountId) ? [item.event] : [],
    );
  }
}
