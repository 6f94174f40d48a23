import type { IngestItem } from '../domain/observation.ts';

/** A place in the queue: whoever waits for it learns that everything before it has been settled. */
export interface Barrier {
  readonly kind: 'barrier';
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** What the ingest queue holds. */
export type Entry = IngestItem | Barrier;

const smallEntryBytes = 256;

/** The size at which an entry counts against the queue's bound. */
export function entryBytes(entry: Entry): number {
  return entry.kind === 'order' || entry.kind === 'unreadable' ? entry.bytes : smallEntryBytes;
}
