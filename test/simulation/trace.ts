import { createHash } from 'node:crypto';
import type { Clock } from '../../src/runtime/clock.ts';

/**
 * Everything that happens in a run, as one digest: two runs of one
 * seed are the same run when it is the same.
 */
export class Trace {
  lines = 0;
  private readonly hash = createHash('sha256');
  private readonly clock: Clock;
  private readonly print: ((line: string) => void) | undefined;

  /** `print`: where each line goes, for whoever wants to read along. */
  constructor(clock: Clock, print?: (line: string) => void) {
    this.clock = clock;
    this.print = print;
  }

  /** `who` did `what`. `detail` may be long: it is in the digest whole, and printed in part. */
  add(who: string, what: string, detail = ''): void {
    this.lines += 1;
    const at = this.clock.monotonicMs().toFixed(3);
    this.hash.update(`${at} ${who} ${what} ${detail}\n`);
    this.print?.(`${at.padStart(11)} ${who.padEnd(10)} ${what} ${detail.slice(0, 300)}`);
  }

  /** For people only: not in the digest. */
  note(who: string, what: string): void {
    this.print?.(`${this.clock.monotonicMs().toFixed(3).padStart(11)} ${who.padEnd(10)} ${what}`);
  }

  get printing(): boolean {
    return this.print !== undefined;
  }

  digest(): string {
    return this.hash.copy().digest('hex').slice(0, 16);
  }
}
