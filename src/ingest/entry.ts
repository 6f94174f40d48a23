import type { IngestItem } from '../domain/observation.ts';

/** A place in the queue: whoever waits for it learns that everything before it has been settled. */
export interface Barrier {
  readonly kind: 'barrier';
  readonly atMs: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** What the ingest queue holds. */
export type Entry = IngestItem | Barrier;

/** When it came, milliseconds since the epoch. */
export function entryAtMs(entry: Entry): number {
  return entry.kind === 'order' || entry.kind === 'unreadable' ? entry.observedAtMs : entry.atMs;
}

const smallEntryBytes = 256;

/** The size at which an entry counts against the queue's bound. */
export function entryBytes(entry: Entry): number {
  return entry.kind === 'order' || entry.kind === 'unreadable' ? entry.bytes : smallEntryBytes;
}
