import type { RestMetrics } from '../../observability/metrics.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';

export interface ReadGateOptions {
  /** Rows read at once. A read for more than a bound passes alone. */
  readonly maxRows: number;
  readonly maxRowsPerPrincipal: number;
  /** Finished answers' bytes not yet taken by sockets. Above it no new read begins. */
  readonly maxHeldBytes: number;
  readonly maxHeldBytesPerPrincipal: number;
  /** The most reads of one principal that may wait for room; a further one is refused. */
  readonly maxWaitingPerPrincipal: number;
  readonly waitMs: number;
}

/**
 * Four pages of 500 in all: on two cores Postgres then has processor time left for commands'
 * statements. A page of 500 is 0.5 to 1 MB, so one principal holds at most 4 MiB and two pages.
 */
export const readGateDefaults: ReadGateOptions = {
  maxRows: 2000,
  maxRowsPerPrincipal: 1000,
  maxHeldBytes: 32 * 1_048_576,
  maxHeldBytesPerPrincipal: 4 * 1_048_576,
  maxWaitingPerPrincipal: 100,
  waitMs: 2000,
};

/**
 * An admitted read. Call each function once: `read` when the work has ended, `taken` when the
 * socket has taken the answer or is gone.
 */
export interface ReadPass {
  /** `heldBytes`: the answer's bytes not yet taken by the socket. */
  read(heldBytes: number): void;
  taken(): void;
}

interface ReadGateDeps {
  readonly clock: Clock;
  readonly metrics: RestMetrics;
}

interface Waiting {
  readonly rows: number;
  readonly timer: Timer;
  readonly admit: () => void;
}

interface Reader {
  rows: number;
  heldBytes: number;
  readonly waiting: Waiting[];
}

/**
 * Limits how much one principal, and all together, may read at once: rows being read, and bytes not
 * yet taken by sockets. A read without room waits a short time. Principals take turns, so one
 * principal's page does not wait behind another's sixty pages. Commands do not pass here.
 *
 * Invariant: rows and bytes count the admitted reads until they end; a principal without any is
 * forgotten.
 */
export class ReadGate {
  private readonly readers = new Map<string, Reader>();
  private rows = 0;
  private heldBytes = 0;
  private waiting = 0;
  private readonly deps: ReadGateDeps;
  private readonly options: ReadGateOptions;

  constructor(deps: ReadGateDeps, options: ReadGateOptions) {
    this.deps = deps;
    this.options = options;
  }

  /**
   * Resolves with a pass when there is room, or with undefined: the principal has too many waiting
   * reads, or this one has waited too long.
   */
  enter(principal: string, rows: number): Promise<ReadPass | undefined> {
    const reader = this.readers.get(principal) ?? { rows: 0, heldBytes: 0, waiting: [] };
    this.readers.set(principal, reader);
    if (reader.waiting.length === 0 && this.hasRoom(reader, rows))
      return Promise.resolve(this.admit(principal, reader, rows));
    if (reader.waiting.length >= this.options.maxWaitingPerPrincipal) {
      this.deps.metrics.readsRefused.inc();
      return Promise.resolve(undefined);
    }
    return new Promise((resolve) => {
      const timer = this.deps.clock.after(this.options.waitMs, () => {
        reader.waiting.splice(reader.waiting.indexOf(waiting), 1);
        this.deps.metrics.readsRefused.inc();
        this.show(-1);
        this.forget(principal, reader);
        resolve(undefined);
      });
      const admit = () => {
        timer.cancel();
        this.show(-1);
        resolve(this.admit(principal, reader, rows));
      };
      const waiting = { rows, timer, admit };
      reader.waiting.push(waiting);
      this.show(1);
    });
  }

  private hasRoom(reader: Reader, rows: number): boolean {
    const { maxRows, maxRowsPerPrincipal, maxHeldBytes, maxHeldBytesPerPrincipal } = this.options;
    const fits = (used: number, most: number) => used === 0 || used + rows <= most;
    return (
      fits(this.rows, maxRows) &&
      fits(reader.rows, maxRowsPerPrincipal) &&
      this.heldBytes < maxHeldBytes &&
      reader.heldBytes < maxHeldBytesPerPrincipal
    );
  }

  private admit(principal: string, reader: Reader, rows: number): ReadPass {
    this.rows += rows;
    reader.rows += rows;
    let held = 0;
    const hold = (bytes: number) => {
      this.heldBytes += bytes - held;
      reader.heldBytes += bytes - held;
      held = bytes;
    };
    let isTaken = false;
    let isRead = false;
    const ended = () => {
      this.show(0);
      this.letIn();
      this.forget(principal, reader);
    };
    this.show(0);
    return {
      read: (heldBytes) => {
        if (isRead) return;
        isRead = true;
        this.rows -= rows;
        reader.rows -= rows;
        if (!isTaken) hold(heldBytes);
        ended();
      },
      taken: () => {
        isTaken = true;
        hold(0);
        ended();
      },
    };
  }

  /** Lets in each principal's first waiting read in turn; the principal let in last comes last. */
  private letIn(): void {
    for (let admitted = this.waiting > 0; admitted; ) {
      admitted = false;
      for (const [principal, reader] of this.readers) {
        const [first] = reader.waiting;
        if (first === undefined || !this.hasRoom(reader, first.rows)) continue;
        reader.waiting.shift();
        this.readers.delete(principal);
        this.readers.set(principal, reader);
        first.admit();
        admitted = true;
        break;
      }
    }
  }

  private forget(principal: string, reader: Reader): void {
    const { rows, heldBytes, waiting } = reader;
    // Not a newer entry: an answer may be taken long after its reader was forgotten.
    if (rows === 0 && heldBytes === 0 && waiting.length === 0 && this.readers.get(principal) === reader)
      this.readers.delete(principal);
  }

  private show(waiting: 1 | 0 | -1): void {
    this.waiting += waiting;
    const { readRows, readsWaiting, heldBytes } = this.deps.metrics;
    readRows.set(this.rows);
    readsWaiting.set(this.waiting);
    heldBytes.set(this.heldBytes);
  }
}
