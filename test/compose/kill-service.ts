import type { ComposeProject } from './compose-project.ts';

// Process 1 is the engine's init, which nothing inside can kill. Every other
// one that serves is, and this one is not.
const killAll = `
  const { readdirSync, readFileSync } = require('fs');
  for (const pid of readdirSync('/proc').filter((name) => Number(name) > 1 && Number(name) !== process.pid)) {
    let line = '';
    try { line = readFileSync('/proc/' + pid + '/cmdline', 'utf8'); } catch {}
    if (line.includes('tidemark.js\\0serve')) process.kill(Number(pid), 'SIGKILL');
  }
`;

/**
 * As `kill -9` of the service inside its container: `docker kill` counts as a wish of the operator,
 * and the engine would not start it again.
 */
export async function killService(project: ComposeProject): Promise<void> {
  // The container may be gone before this command has ended.
  await project.exec('tidemark', ['node', '-e', killAll]).catch(() => undefined);
}
