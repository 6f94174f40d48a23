import type { IngestItem } from '../../src/domain/observation.ts';
import type { ObservationSink } from '../../src/service/sources/observation-sink.ts';

/** The sink with each item as `change` leaves it; undefined: dropped. */
export function passing(sink: ObservationSink, change: (item: IngestItem) => IngestItem | undefined): ObservationSink {
  return {
    offer: (item) => {
      const changed = change(item);
      if (changed !== undefined) sink.offer(changed);
    },
    get full() {
      return sink.full;
    },
    onRoom: (callback) => sink.onRoom(callback),
    committed: () => sink.committed(),
  };
}
