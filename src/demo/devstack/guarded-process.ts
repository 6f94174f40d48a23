import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Clock } from '../../runtime/clock.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { exitCodes, ProgramError } from '../../runtime/program-error.ts';
import { withDeadline } from '../../runtime/waiting.ts';

/**
 * The shell between us and a server. Its standard input is a pipe, and only we hold the other end.
 * When it closes, because we asked for it or because we were killed with -9, the shell stops the
 * server and removes the folder. A server started directly outlives us (Postgres and java both
 * did); `setpriv --pdeathsig` missed one kill in 25, this none in 25.
 *
 * $1 signal to stop the server, $2 tenths of a second until it is killed, $3 folder, then the
 * command. File descriptor 3 reports two lines: the server's process id, and its exit code once it
 * has ended; when we are gone, writing them must not kill the shell (PIPE).
 */
const guardScript = `
signal=$1 patience=$2 folder=$3; shift 3
exec 4<&0 </dev/null
"$@" 3>&- 4<&- &
server=$!
trap '' PIPE
echo "$server" >&3
exec >/dev/null 2>&1
(
  exec 3>&-
  read -r line <&4
  kill -s "$signal" "$server"
  while [ "$patience" -gt 0 ]; do sleep 0.1; patience=$((patience - 1)); done
  kill -s KILL "$server"
) &
watcher=$!
wait "$server"; code=$?
kill "$watcher"; wait "$watcher"
echo "$code" >&3
read -r line <&4
if [ -e "$folder/keep" ]; then rm -f "$folder/keep"; else rm -rf "$folder" || { sleep 1; rm -rf "$folder"; }; fi
`;

export interface GuardedProcessOptions {
  /** Program and arguments. */
  readonly command: readonly [string, ...string[]];
  /** The server's name in errors. */
  readonly name: string;
  /** Belongs to the server alone; removed after it, unless `stop({ keepFolder: true })`. */
  readonly folder: string;
  readonly stopSignal: 'INT' | 'TERM' | 'KILL';
  /** How long a server may take to stop before it is killed. */
  readonly patienceMs: number;
  /** Replaces the environment; absent: ours. */
  readonly env?: Readonly<Record<string, string>>;
  /** Run the server as this user (we must be root then). */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Called with each line that the server writes. */
  readonly onLine?: (line: string) => void;
}

type Logged = { readonly err?: { readonly message?: string; readonly fix?: string } } | undefined;

const keptLines = 20;
/** A server's own children may keep its output open after it. */
const lastLinesMs = 1_000;

/**
 * A server process that never outlives us.
 *
 * States: running (the server runs) → exited (it ended, by itself or killed; its folder is still
 * there) → stopped (folder removed or kept, shell gone). Invariant: as long as the shell lives, our
 * process's end leads to `stopped`, also after a kill -9.
 */
export class GuardedProcess {
  /** The server's own process id, for signals; not the shell's. */
  readonly pid: number;
  /**
   * Resolves with the exit code when the server has ended (128 + n after signal n), and its last
   * lines were read. Never rejects.
   */
  readonly exited: Promise<number>;
  private readonly lastLines: string[];
  private readonly shell: ChildProcess;
  private readonly shellEnded: Promise<void>;
  private readonly clock: Clock;
  private readonly options: GuardedProcessOptions;

  private constructor(
    clock: Clock,
    options: GuardedProcessOptions,
    shell: ChildProcess,
    pid: number,
    { exited, lastLines }: { readonly exited: Promise<number>; readonly lastLines: string[] },
  ) {
    this.clock = clock;
    this.options = options;
    this.shell = shell;
    this.pid = pid;
    this.exited = exited;
    this.lastLines = lastLines;
    this.shellEnded = ended(shell);
  }

  /** Starts the server. Resolves when it has a process id. It may not answer yet. */
  static async start(deps: { readonly clock: Clock }, options: GuardedProcessOptions): Promise<GuardedProcess> {
    const tenths = String(Math.ceil(options.patienceMs / 100));
    const shell = spawn(
      '/bin/sh',
      ['-c', guardScript, 'guard', options.stopSignal, tenths, options.folder, ...options.command],
      {
        // A session of its own: Ctrl-C in the terminal reaches us, and we stop the server in the
        // right order.
        detached: true,
        // `user` may not be able to read ours, and that is enough to make Postgres fail.
        cwd: '/',
        stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
        ...(options.env !== undefined && { env: { ...options.env } }),
        ...(options.user === undefined ? {} : options.user),
      },
    );
    // Writing nothing, we still get an error for a shell that died; `exited` reports that already.
    shell.stdin?.on('error', () => undefined);
    const lastLines: string[] = [];
    const read = [shell.stdout, shell.stderr].map((stream) =>
      eachLine(stream, (line) => {
        lastLines.push(line);
        if (lastLines.length > keptLines) lastLines.shift();
        options.onLine?.(line);
      }),
    );
    const reported = reports(shell.stdio[3] as Readable);
    const failed = new Promise<never>((_, reject) => shell.once('error', reject));
    const pid = await withDeadline(
      deps.clock,
      10_000,
      `starting ${options.name}`,
      Promise.race([reported.pid, failed]),
    );
    const exited = reported.exitCode.then(async (code) => {
      await withDeadline(deps.clock, lastLinesMs, 'reading its last lines', Promise.all(read)).catch(() => undefined);
      return code;
    });
    return new GuardedProcess(deps.clock, options, shell, pid, { exited, lastLines });
  }

  /**
   * The server's fault (`ended with 1`), for people, with its own last words. Of a log in JSON: the
   * last error alone, or every line if there are no other words.
   */
  fault(happened: string): ProgramError {
    const { lastLines } = this;
    const logged = lastLines.map((line) => (line.startsWith('{') ? jsonOrUndefined(line) : undefined) as Logged);
    const { message, fix } = logged.findLast((entry) => entry?.err)?.err ?? {};
    const words = [...lastLines.filter((_, at) => logged[at] === undefined), message, fix].filter(Boolean);
    return new ProgramError(`${this.options.name} ${happened}`, {
      code: 'SERVER_FAILED',
      exitCode: exitCodes.unavailable,
      fix: `It said at last:\n${(words.length > 0 ? words : lastLines).join('\n') || 'nothing'}`,
    });
  }

  /**
   * Stops the server and its shell; resolves when both are gone. Safe to call again, and after the
   * server has ended by itself.
   */
  async stop({ keepFolder = false } = {}): Promise<void> {
    if (keepFolder) writeFileSync(join(this.options.folder, 'keep'), '');
    this.shell.stdin?.end();
    await withDeadline(this.clock, this.options.patienceMs + 10_000, `stopping ${this.options.name}`, this.shellEnded);
    // The shell runs as `user`. It can empty the folder, but remove it only if every user may write
    // there, as in /tmp.
    if (!keepFolder) await rm(this.options.folder, { recursive: true, force: true });
  }
}

function ended(shell: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    shell.once('exit', () => resolve());
    shell.once('error', () => resolve());
  });
}

/**
 * Reads the shell's reports on file descriptor 3. A shell that ends without one was killed; its
 * server's state is unknown then.
 */
function reports(from: Readable): { pid: Promise<number>; exitCode: Promise<number> } {
  const pid = Promise.withResolvers<number>();
  const exitCode = Promise.withResolvers<number>();
  const seen: number[] = [];
  void eachLine(from, (line) => {
    seen.push(Number(line));
    if (seen.length === 1) pid.resolve(Number(line));
    if (seen.length === 2) exitCode.resolve(Number(line));
  });
  from.once('close', () => {
    pid.reject(new Error('the guarding shell ended before it had started the server'));
    exitCode.resolve(255);
  });
  return { pid: pid.promise, exitCode: exitCode.promise };
}

/** Resolves when the last line was read. */
function eachLine(from: Readable, onLine: (line: string) => void): Promise<void> {
  const lines = createInterface({ input: from, crlfDelay: Number.POSITIVE_INFINITY });
  return new Promise((resolve) => lines.on('line', onLine).once('close', resolve));
}
