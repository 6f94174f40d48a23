import { appendFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import { ProgramError, sentenceOf } from '../../runtime/program-error.ts';
import { Rounds } from '../../runtime/rounds.ts';
import type { Service } from '../../runtime/supervisor.ts';
import type { RecordedRow } from '../sources/recorded-row.ts';

interface RecorderOptions {
  readonly folder: string;
  /** Of all recordings in the folder. */
  readonly maxBytes: number;
  /** Names this process's files beside those of others. */
  readonly holder: string;
}

const writeEveryMs = 250;
const maxWaitingBytes = 32 * 1024 * 1024;
/** A failed write is said at most this often. */
const sayEveryMs = 60_000;
/** A file's part of the bound: without the oldest most is left. Node reads texts up to 512 MB. */
const partOfBound = 8;
const maxFileBytes = 128_000_000;
const isRecording = /^tidemark-.+\.ndjson$/;

/**
 * Keeps the platform's rows as they came, a JSON line each, for `tidemark venue replay`. Rows have
 * no credentials.
 *
 * Invariant: it never holds up the data path. Lines wait in bounded memory. A line without room, or
 * refused by the disk, is left out, and the recording says so at its place. Above `maxBytes` the
 * oldest files are removed.
 */
export class Recorder implements Service {
  readonly name = 'recorder';
  private waiting: Line[] = [];
  private waitingBytes = 0;
  private leftOut = 0;
  private file = '';
  private fileBytes = 0;
  private files = 0;
  private saidMs = Number.NEGATIVE_INFINITY;
  private readonly writing: Rounds;
  private readonly deps: ClockAndLogger;
  private readonly options: RecorderOptions;

  constructor(deps: Recorder['deps'], options: RecorderOptions) {
    this.deps = deps;
    this.options = options;
    const { name } = this;
    this.writing = new Rounds({ clock: deps.clock, round: () => this.write() }, { name, everyMs: writeEveryMs });
  }

  take(row: RecordedRow): void {
    const text = `${JSON.stringify(row)}\n`;
    if (this.waitingBytes + text.length > maxWaitingBytes) {
      this.leftOut += 1;
      return;
    }
    this.markGap();
    this.waiting.push({ text, rows: 1 });
    this.waitingBytes += text.length;
  }

  /** Refuses if nothing can be written: a missing recording is noticed late. */
  async start(): Promise<void> {
    const { folder } = this.options;
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await this.nextFile();
    } catch (error) {
      throw new ProgramError(`nothing can be recorded in ${folder}: ${sentenceOf(error)}`, {
        code: 'RECORD',
        fix: 'TIDEMARK_RECORD must name a folder that the service may write to. Leave it out to record nothing.',
        cause: error,
      });
    }
    this.deps.log.warn({ folder, maxBytes: this.options.maxBytes }, 'every row of the platform is recorded');
    await this.writing.start();
  }

  async drain(): Promise<void> {
    await this.writing.drain();
    await this.write();
  }

  private async write(): Promise<void> {
    this.markGap();
    const lines = this.waiting;
    if (lines.length === 0) return;
    [this.waiting, this.waitingBytes] = [[], 0];
    const text = lines.map((line) => line.text).join('');
    try {
      if (this.fileBytes > 0 && this.fileBytes + text.length > this.maxFileBytes) await this.nextFile();
      await appendFile(this.file, text, { mode: 0o600 });
      this.fileBytes += Buffer.byteLength(text);
    } catch (error) {
      const lost = lines.reduce((sum, { rows }) => sum + rows, 0);
      this.waiting.unshift(gap(lost));
      this.refused(error, lost);
    }
  }

  private markGap(): void {
    if (this.leftOut > 0) this.waiting.push(gap(this.leftOut));
    this.leftOut = 0;
  }

  private refused(error: unknown, rows: number): void {
    const nowMs = this.deps.clock.monotonicMs();
    if (nowMs - this.saidMs < sayEveryMs) return;
    this.saidMs = nowMs;
    this.deps.log.error({ error: sentenceOf(error), rows }, 'rows could not be recorded');
  }

  private get maxFileBytes(): number {
    return Math.min(maxFileBytes, this.options.maxBytes / partOfBound);
  }

  /** Names begin with the time, so the first are the oldest. */
  private async nextFile(): Promise<void> {
    const { folder, holder } = this.options;
    const time = new Date(this.deps.clock.nowMs()).toISOString().replaceAll(/[-:]|\.\d+/g, '');
    this.files += 1;
    this.file = join(folder, `tidemark-${time}-${holder}-${String(this.files).padStart(5, '0')}.ndjson`);
    await appendFile(this.file, '', { mode: 0o600 });
    this.fileBytes = 0;
    await this.removeOldest();
  }

  private async removeOldest(): Promise<void> {
    const { folder, maxBytes } = this.options;
    const names = (await readdir(folder)).filter((name) => isRecording.test(name)).sort();
    const files = await Promise.all(names.map((name) => sized(join(folder, name))));
    // The new file may grow to its part.
    let bytes = files.reduce((sum, file) => sum + file.bytes, this.maxFileBytes);
    for (const file of files) {
      if (bytes <= maxBytes || file.path === this.file) return;
      await rm(file.path, { force: true });
      bytes -= file.bytes;
    }
  }
}

/** A row, or how many are missing at its place. */
interface Line {
  readonly text: string;
  readonly rows: number;
}

function gap(rows: number): Line {
  return { text: `${JSON.stringify({ leftOut: rows })}\n`, rows };
}

/** Another process may remove a file at the same time. */
async function sized(path: string): Promise<{ readonly path: string; readonly bytes: number }> {
  const found = await stat(path).catch(() => undefined);
  return { path, bytes: found?.size ?? 0 };
}
