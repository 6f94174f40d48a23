import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

interface HeldDevstack {
  /** The process that holds it. */
  readonly process: ChildProcess;
  /** The servers' own process ids. */
  readonly pids: number[];
  /** The folder in which all its temporary folders lie. */
  readonly folder: string;
}

/** Starts part of the devstack in a process of its own, which can be killed. */
export async function holdDevstack(what: 'sleep' | 'postgres' | 'kafka', cacheDir: string): Promise<HeldDevstack> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-held-'));
  // As /tmp is: the user as whom root runs Postgres has to get through, and to remove what is his.
  chmodSync(folder, 0o1777);
  const child = spawn(process.execPath, ['test/demo/devstack/hold-devstack.ts', what, cacheDir], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const line = await firstLine(child);
  return { process: child, folder, pids: (JSON.parse(line) as { pids: number[] }).pids };
}

export function forgetHeld(held: HeldDevstack): void {
  held.process.kill('SIGKILL');
  rmSync(held.folder, { recursive: true, force: true });
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) throw new Error('the child has no standard output');
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', (code, signal) =>
      reject(new Error(`the child ended before it had started anything: ${code ?? signal}`)),
    );
  });
}
