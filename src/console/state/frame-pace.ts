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
export class FramePace {
  private restedMs = 0;
  private readonly frames: Frames;

  constructor(frames: Frames) {
    this.frames = frames;
  }

  frame(run: () => void): void {
    const waitMs = this.restedMs - this.frames.monotonicMs();
    if (waitMs > 0) this.frames.after(waitMs, () => this.draw(run));
    else this.draw(run);
  }

  private draw(run: () => void): void {
    const { next, after, monotonicMs } = this.frames;
    next(() => {
      const startMs = monotonicMs();
      run();
      // A timer runs after the browser has laid out and painted the frame.
      after(0, () => {
        const endMs = monotonicMs();
        this.restedMs = endMs + Math.min(longestRestMs, endMs - startMs);
      });
    });
  }
}
