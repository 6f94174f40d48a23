import { existsSync, lstatSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * The folder of compiled code, made where it is missing. It is the user's own: what lies there is
 * run, and Node's own choice is one that everybody may write to. Undefined where none can be made
 * (a read-only image), or another user could put code there.
 */
export function codeFolder() {
  try {
    let folder = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
    // One by one: with `recursive`, and in Node's own hands, this never ends where a parent can't
    // be made and says that it is not there (/proc).
    for (const name of ['.', 'tidemark', 'code']) {
      folder = join(folder, name);
      if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
      if (!isOurs(folder, name === '.')) return undefined;
    }
    return folder;
  } catch {
    return undefined;
  }
}

/**
 * Whether only this user (and root) can write to the folder: `sudo` that keeps HOME would else run,
 * as root, what a user put there. The parent may be everybody's where its sticky bit keeps ours
 * from being moved away, and may be reached by a link.
 */
function isOurs(folder, isParent) {
  const { uid, mode } = isParent ? statSync(folder) : lstatSync(folder);
  const me = process.getuid?.();
  // Windows has neither: its profile folders are the user's own.
  if (me === undefined) return true;
  const closed = (mode & 0o022) === 0;
  if (isParent) return (uid === me || uid === 0) && (closed || (mode & 0o1000) !== 0);
  return (mode & 0o170000) === 0o040000 && uid === me && closed;
}
