import type { IngestItem } from '../domain/observation.ts';

/** The way into ingest, as a source sees it. */
export interface ObservationSink {
  /** Takes the item, always. When `full` turns true the caller stops reading until `onRoom` fires. */
  offer(item: IngestItem): void;
  readonly full: boolean;
  /** Calls back each time the queue has room again; returns the way to unsubscribe. */
  onRoom(callback: () => void): () => void;
  /** Resolves when everything offered before this call has been settled: committed, or known to change nothing. Rejects when the lane is lost. */
  settled(): Promise<void>;
}
