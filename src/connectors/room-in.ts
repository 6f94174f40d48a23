import type { ObservationSink } from './observation-sink.ts';

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
