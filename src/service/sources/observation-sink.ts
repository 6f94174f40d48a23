import type { IngestItem } from '../../domain/observation.ts';

/** The way into ingest, as a source sees it. */
export interface ObservationSink {
  /**
   * Always takes the item. When `full` turns true the caller stops reading until `onRoom` fires.
   */
  offer(item: IngestItem): void;
  readonly full: boolean;
  /** Calls back each time the queue has room again; returns a function to unsubscribe. */
  onRoom(callback: () => void): () => void;
  /**
   * Resolves when every item offered before this call has been committed, or is known to
   * change nothing. Rejects when the lane is lost.
   */
  committed(): Promise<void>;
}

/** Resolves when the sink has room, at once if it has, or when `signal` aborts. */
export function roomIn(sink: ObservationSink, signal: AbortSignal): Promise<void> {
  if (!sink.full || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      leave();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const leave = sink.onRoom(finish);
    signal.addEventListener('abort', finish, { once: true });
  });
}
