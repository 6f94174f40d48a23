import { spawnSync } from 'node:child_process';

const waitSeconds = 300;
const installMs = 180_000;
// apt-get waits for dpkg's lock, not for that of its lists, and several
// processes of one run may be here at once.
const lock = '/tmp/tidemark-apt.lock';

/**
 * Makes sure that a program of a Debian package is there: installs it where we are
 * root and apt-get exists. Throws with the sentence that fixes it otherwise; a test
 * that needs it fails then, and never skips.
 */
export function ensureProgram(program: string, packageName = program): void {
  if (isThere(program)) return;
  const fix = `${program} is not installed: \`apt-get install ${packageName}\``;
  if (process.getuid?.() !== 0 || !isThere('apt-get')) throw new Error(fix);
  // The lists of a fresh machine are empty; those of an old one name versions that are gone.
  apt(['update']);
  const said = apt(['install', '-y', '--no-install-recommends', packageName]);
  if (!isThere(program)) throw new Error(`${fix} did not help:\n${said}`);
}

function apt(args: readonly string[]): string {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const alone = ['--wait', String(waitSeconds), lock, 'apt-get', '-o', 'DPkg::Lock::Timeout=120'];
  const { stdout, stderr } = spawnSync('flock', [...alone, ...args], {
    env,
    encoding: 'utf8',
    timeout: waitSeconds * 1000 + installMs,
  });
  return `${stdout}\n${stderr}`.slice(-2000);
}

function isThere(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}
