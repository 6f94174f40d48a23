import type { CliIo } from '../../cli/io/io.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { makeTemporaryFolder } from '../../runtime/temporary-folder.ts';
import { DeadlineError, withDeadline } from '../../runtime/waiting.ts';
import { GuardedProcess } from '../devstack/guarded-process.ts';

/** `answer`: `pick`'s result for the first line that it accepted. */
export type ChildProgram = GuardedProcess & { readonly answer: unknown };

interface ChildOptions {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Called with each line that it writes. The first result says that the child is ready. */
  readonly pick: (line: string) => unknown;
  readonly startMs: number;
}

/**
 * Starts this program again as a process that ends with us, and waits until it is ready. Throws
 * with its last lines otherwise.
 */
export async function startChild(io: Pick<CliIo, 'clock' | 'entry'>, options: ChildOptions): Promise<ChildProgram> {
  const ready = Promise.withResolvers<unknown>();
  const [node = '', ...entry] = io.entry;
  const child = await GuardedProcess.start(
    { clock: io.clock },
    {
      command: [node, ...entry, ...options.args],
      name: options.name,
      folder: await makeTemporaryFolder(`tidemark-${options.name}-`),
      stopSignal: 'TERM',
      patienceMs: 30_000,
      env: options.env,
      onLine: (line) => {
        const answer = options.pick(line);
        if (answer !== undefined) ready.resolve(answer);
      },
    },
  );
  const ended = child.exited.then((code) => {
    throw child.fault(`ended with ${code} before it was ready`);
  });
  ended.catch(() => undefined);
  try {
    const answer = await withDeadline(
      io.clock,
      options.startMs,
      `starting ${options.name}`,
      Promise.race([ready.promise, ended]),
    );
    return Object.assign(child, { answer });
  } catch (error) {
    await child.stop();
    throw error instanceof DeadlineError ? child.fault(`was not ready within ${options.startMs} ms`) : error;
  }
}

/** The line as a JSON object, or undefined: programs write other lines as well. */
export function jsonObject(line: string): Readonly<Record<string, unknown>> | undefined {
  return line.startsWith('{') ? (jsonOrUndefined(line) as Readonly<Record<string, unknown>> | undefined) : undefined;
}
