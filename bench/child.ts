import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GuardedProcess } from '../src/demo/devstack/guarded-process.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { withDeadline } from '../src/runtime/waiting.ts';
import { neutralEnv } from '../test/support/runs/neutral-env.ts';
import type { Cleanup } from './cleanup.ts';

export interface Child {
  readonly name: string;
  readonly pid: number;
  /** Resolves with the exit code. */
  readonly exited: Promise<number>;
  /**
   * The first line of either output that is a JSON object.
   * Rejects when it ends without, or after 30 s.
   */
  readonly firstJson: Promise<unknown>;
  /** The newest line that is a JSON object. */
  lastJson(): unknown;
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly name: string;
  /** Of the checkout that it comes from. Default: this one. */
  readonly root?: string;
  /** From there. */
  readonly script: string;
  readonly args?: readonly string[];
  /** For Node itself, such as `--cpu-prof`. */
  readonly nodeArgs?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const keptLines = 40;
const here = join(import.meta.dirname, '..');

/**
 * A Node process of the benchmark, ended with it even when it is killed with -9. What it last said
 * is printed when it ends by itself.
 */
export async function startChild(cleanup: Cleanup, options: ChildOptions): Promise<Child> {
  const folder = await mkdtemp(join(tmpdir(), `tidemark-bench-${options.name}-`));
  const lines: string[] = [];
  const first = Promise.withResolvers<unknown>();
  let last: unknown;
  let stopping = false;
  const guarded = await GuardedProcess.start(
    { clock: systemClock },
    {
      name: options.name,
      // The guard runs it in the root folder.
      command: [
        process.execPath,
        ...(options.nodeArgs ?? []),
        join(options.root ?? here, options.script),
        ...(options.args ?? []),
      ],
      folder,
      stopSignal: 'TERM',
      patienceMs: 30_000,
      env: { ...neutralEnv(), ...options.env },
      onLine: (line) => {
        lines.push(line);
        if (lines.length > keptLines) lines.shift();
        if (!line.startsWith('{')) return;
        last = JSON.parse(line);
        first.resolve(last);
      },
    },
  );
  void guarded.exited.then((code) => {
    first.reject(new Error(`${options.name} ended with ${code} before it said anything`));
    if (!stopping && code !== 0)
      console.error(`${options.name} ended by itself with ${code}; its last lines:\n${lines.join('\n')}`);
  });
  const stop = cleanup.add(async () => {
    stopping = true;
    await guarded.stop();
  });
  const firstJson = withDeadline(systemClock, 30_000, `the first line of ${options.name}`, first.promise);
  firstJson.catch(() => undefined);
  return { name: options.name, pid: guarded.pid, exited: guarded.exited, firstJson, lastJson: () => last, stop };
}
