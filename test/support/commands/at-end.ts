import { afterAll, beforeAll, onTestFinished } from 'vitest';

type End = () => unknown;

/** Of the parts that `forFile` starts now; undefined while a test runs. */
let endsOfFile: End[] | undefined;

/** Runs `end` after the test, or after the last test of the file if `forFile` starts the part. */
export function atEnd(end: End): void {
  if (endsOfFile !== undefined) endsOfFile.push(end);
  else
    onTestFinished(async () => {
      await end();
    });
}

/**
 * Parts that all tests of a file share, since a start of them costs more than a test: `start` runs
 * before the first test. After the last one the parts are ended, the newest first, each of them
 * also when another one's end fails. Returns a function for the tests, which gives the parts.
 */
export function forFile<T>(start: () => Promise<T>): () => T {
  const ends: End[] = [];
  let parts: { readonly made: T } | undefined;
  beforeAll(async () => {
    endsOfFile = ends;
    try {
      parts = { made: await start() };
    } finally {
      endsOfFile = undefined;
    }
  }, 240_000);
  afterAll(async () => {
    const faults: unknown[] = [];
    for (const end of ends.reverse()) {
      try {
        await end();
      } catch (fault) {
        faults.push(fault);
      }
    }
    if (faults.length > 0)
      throw faults.length === 1 ? faults[0] : new AggregateError(faults, 'parts of the file did not end well');
  }, 240_000);
  return () => {
    if (parts === undefined) throw new Error('the parts of the file are there for its tests only');
    return parts.made;
  };
}
