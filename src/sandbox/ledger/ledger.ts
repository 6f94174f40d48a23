import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { instantText } from '../exchange/wire-text.ts';

const secretFields =
  /("?(?:client_secret|secret_key|password|code_verifier|refresh_token|(?:verification_)?code|next_step_auth_id)"?\s*[:=]\s*"?)[^"&\s,}]+/g;

/**
 * A request body without its secrets: people read the ledger, tests keep it, and a sandbox may be
 * given real credentials by mistake.
 */
export function maskSecrets(text: string): string {
  return text.replace(secretFields, '$1[redacted]');
}

type LedgerKind =
  | 'start'
  | 'request'
  | 'decision'
  | 'answer'
  | 'token'
  | 'sign_in'
  | 'session'
  | 'change'
  | 'event'
  | 'fault';

interface LedgerOptions {
  /** Holds the segment files. Made and removed by the caller. */
  readonly folder: string;
  readonly segmentBytes: number;
  /** On disk at most; beyond it the oldest segment goes, and a reader finds a line about it. */
  readonly maxBytes: number;
}

interface Segment {
  readonly path: string;
  readonly firstSeq: number;
  bytes: number;
}

/** Waiting to be written; above it `behind` asks the market to pause. */
const backlogBytes = 16 * 1024 * 1024;
const flushAtBytes = 512 * 1024;
const flushEveryMs = 100;

/**
 * The append-only record of everything this platform received and emitted, one JSON object a line,
 * numbered without a gap. Tests and demo use it as their oracle. So a line is entered in the same
 * turn of the event loop as its event, and nothing is ever changed.
 *
 * Only lines that wait for the disk are in memory; the rest is in segment files. 0.4 µs a line of 1
 * kB when it is entered, 1 µs more when it is written.
 */
export class Ledger {
  private seq = 0;
  private pending: string[] = [];
  private pendingChars = 0;
  private writing: Promise<void> = Promise.resolve();
  private writingChars = 0;
  private timer: Timer | undefined;
  private handle: FileHandle | undefined;
  private broken: unknown;
  private readonly allSegments: Segment[] = [];
  private totalBytes = 0;
  private readonly clock: Clock;
  private readonly options: LedgerOptions;

  constructor(deps: { clock: Clock }, options: LedgerOptions) {
    this.clock = deps.clock;
    this.options = options;
  }

  get lastSeq(): number {
    return this.seq;
  }

  /** True when the disk is slower than the market: a load source should wait. */
  get behind(): boolean {
    return this.pendingChars + this.writingChars > backlogBytes;
  }

  /** Oldest first. The first begins above 1 when older ones had to go. */
  get segments(): readonly Segment[] {
    return this.allSegments;
  }

  /**
   * Enters one line and returns its number. `members`: further members; or, for lines of the hot
   * path, their JSON with a comma before each.
   */
  enter(kind: LedgerKind, members: object | string): number {
    this.seq += 1;
    const more = typeof members === 'string' ? members : `,${JSON.stringify(members).slice(1, -1)}`;
    const line = `{"seq":${this.seq},"at":"${instantText(this.clock.nowMs() * 1000)}","kind":"${kind}"${more}}\n`;
    this.pending.push(line);
    this.pendingChars += line.length;
    if (this.pendingChars >= flushAtBytes && this.writingChars === 0) this.write();
    else this.timer ??= this.clock.after(flushEveryMs, () => this.onTimer());
    return this.seq;
  }

  /**
   * Resolves when everything entered before the call is in a file. Rejects when the disk refuses.
   */
  async flush(): Promise<void> {
    this.write();
    await this.writing;
    if (this.broken !== undefined) throw this.broken;
  }

  async close(): Promise<void> {
    this.timer?.cancel();
    this.timer = undefined;
    this.write();
    await this.writing;
    await this.handle?.close();
    this.handle = undefined;
  }

  private onTimer(): void {
    this.timer = undefined;
    this.write();
  }

  /** Hands everything pending to the disk, behind a write under way. */
  private write(): void {
    if (this.pending.length === 0) return;
    const text = this.pending.join('');
    const firstSeq = this.seq - this.pending.length + 1;
    this.pending = [];
    this.writingChars += this.pendingChars;
    const chars = this.pendingChars;
    this.pendingChars = 0;
    this.writing = this.writing
      .then(() => this.append(text, firstSeq))
      .catch((error: unknown) => {
        this.broken ??= error;
      })
      .finally(() => {
        this.writingChars -= chars;
        if (this.pendingChars >= flushAtBytes) this.write();
      });
  }

  private async append(text: string, firstSeq: number): Promise<void> {
    let segment = this.allSegments.at(-1);
    if (segment === undefined || segment.bytes >= this.options.segmentBytes || this.handle === undefined) {
      await this.handle?.close();
      segment = {
        path: join(this.options.folder, `ledger-${String(firstSeq).padStart(14, '0')}.ndjson`),
        firstSeq,
        bytes: 0,
      };
      this.handle = await open(segment.path, 'a');
      this.allSegments.push(segment);
    }
    const bytes = Buffer.from(text);
    await this.handle.appendFile(bytes);
    segment.bytes += bytes.length;
    this.totalBytes += bytes.length;
    while (this.totalBytes > this.options.maxBytes && this.allSegments.length > 1) {
      const oldest = this.allSegments.shift() as Segment;
      this.totalBytes -= oldest.bytes;
      await rm(oldest.path, { force: true });
    }
  }
}
