import { spawnSync } from 'node:child_process';

/** Whether a process with this id exists, as a zombie too. */
export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The command lines that contain `text`, of all processes of the machine but the one that asks. */
export function commandLinesWith(text: string): string[] {
  const { stdout } = spawnSync('ps', ['-e', '-o', 'args='], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes(text));
}
