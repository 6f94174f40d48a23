import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';

const inMemory = '/dev/shm';
const gigabyte = 2 ** 30;

/**
 * Where a run of the tests has its temporary files: in memory where the system offers a
 * folder for it and has room, else where the system says; a TMPDIR that is set wins. Each
 * test with a database copies 415 files. On a disk (ext4) that took 130 ms of processor time
 * or more and 0.5 s, in memory 20 ms and 0.1 s.
 */
export function temporaryFolder(): string {
  return process.env['TMPDIR'] ?? (hasRoomInMemory() ? inMemory : tmpdir());
}

/**
 * A whole run needs less than 2 GB of it. In a container the folder often has 64 MB, or may not
 * hold programs, which tests start from there.
 */
function hasRoomInMemory(): boolean {
  try {
    accessSync(inMemory, constants.W_OK);
    const { bavail, bsize } = statfsSync(inMemory);
    const mount = readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .findLast((line) => line.split(' ')[1] === inMemory);
    return (
      mount !== undefined && !mount.includes('noexec') && bavail * bsize > 4 * gigabyte && freemem() > 8 * gigabyte
    );
  } catch {
    return false;
  }
}
