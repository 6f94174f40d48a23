import type { Ports } from './ports.ts';

interface Frames extends Pick<Ports, 'monotonicMs' | 'after'> {
  /** Runs before the next frame is drawn. */
  readonly next: (run: () => void) => void;
}

/** However slow the machine is, the page shows something new four times a second. */
const longestRestMs = 250;

/**
 * Draws each frame while that is cheap. A slow frame is followed by a rest just as long, so drawing
 * takes half the page's time at most: the other half reads the stream and answers keys, also on a
 * slow machine.
 */
export function framePace({ monotonicMs, after, next }: Frames): (run: () => void) => void {
  let restedMs = 0;
  const draw = (run: () => void) =>
    next(() => {
      const startMs = monotonicMs();
      run();
      // A timer runs after the browser has laid out and painted the frame.
      after(0, () => {
        const endMs = monotonicMs();
        restedMs = endMs + Math.min(longestRestMs, endMs - startMs);
      });
    });
  return (run) => {
    const waitMs = restedMs - monotonicMs();
    if (waitMs > 0) after(waitMs, () => draw(run));
    else draw(run);
  };
}
