import { writeSync } from 'node:fs';
import { promiseHooks } from 'node:v8';

/**
 * Continuations of promises in one turn of the event loop. The simulator's busiest turn has 4,000.
 */
const mostContinuations = 200_000;

let watched = 0;
let continuations = 0;
let isNamed = false;

// For the life of the process, as V8 has no cheaper way: some 5 % of the simulator's time.
promiseHooks.onBefore(() => {
  if (watched === 0) return;
  continuations += 1;
  if (continuations > mostContinuations && !isNamed) nameTheLoop();
});

/**
 * `turn`, one turn of the event loop, in which every promise that can go on goes on. A
 * loop of promises that are all resolved never lets the loop turn: no timer fires, no
 * deadline of a test runner, nothing that JavaScript could throw reaches it. So the
 * process ends, with a line that says where the loop is. Not by a watch on the machine's
 * clock: a machine under load would fail good tests.
 */
export async function watchingTurn(turn: () => Promise<unknown>): Promise<void> {
  watched += 1;
  continuations = 0;
  try {
    await turn();
  } finally {
    watched -= 1;
  }
}

/** The next promise is made by the loop itself, and its stack is that of the loop. */
function nameTheLoop(): void {
  isNamed = true;
  promiseHooks.onInit(() => {
    const where = new Error().stack?.split('\n').slice(2).join('\n') ?? '';
    writeSync(
      2,
      `a loop that waits for nothing: ${mostContinuations} promises went on in one turn of the event loop\n${where}\n`,
    );
    // `process.exit` is replaced by the test runner with one that throws, which the loop may catch.
    process.kill(process.pid, 'SIGKILL');
  });
}
