import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

interface RunOptions {
  /** A bound against hanging. */
  readonly limitMs: number;
  readonly cwd?: string;
  /** Added to ours. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs a program to its end and resolves with its standard output. Rejects with the end of what it
 * said when it fails, is not there or takes too long.
 */
export async function run(command: readonly [string, ...string[]], options: RunOptions): Promise<string> {
  const [program, ...args] = command;
  const { limitMs, cwd, env = {} } = options;
  try {
    const { stdout } = await execute(program, args, {
      timeout: limitMs,
      maxBuffer: 2 ** 26,
      env: { ...process.env, ...env },
      ...(cwd === undefined ? {} : { cwd }),
    });
    return stdout;
  } catch (cause) {
    const { stdout = '', stderr = '', killed } = cause as { stdout?: string; stderr?: string; killed?: boolean };
    const why = killed === true ? `took longer than ${limitMs / 1000} s` : (cause as Error).message.split('\n')[0];
    throw new Error(`${command.join(' ')}: ${why}\n${`${stdout}\n${stderr}`.trim().slice(-4000)}`, { cause });
  }
}

/** Whether a program does what it is asked, with exit code 0. */
export async function succeeds(command: readonly [string, ...string[]], options: RunOptions): Promise<boolean> {
  return run(command, options).then(
    () => true,
    () => false,
  );
}

/**
 * One line about what is being done: this takes minutes, and
 * nothing that is left out may stay unsaid.
 */
export function say(line: string): void {
  process.stdout.write(`compose  ${line}\n`);
}
