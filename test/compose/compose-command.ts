import { ensureProgram } from '../support/servers/debian-package.ts';
import { run, say, succeeds } from './run.ts';

export type ComposeCommand = readonly [string, ...string[]];

/**
 * The Compose of this machine: the one that COMPOSE names (a path, or words with
 * spaces between), else `docker compose`, else `docker-compose`, which is
 * installed from Debian (1.29) where we are root.
 */
export async function findCompose(): Promise<ComposeCommand> {
  const compose = await choose();
  const version = (await run([...compose, 'version'], { limitMs: 60_000 })).split('\n')[0];
  say(`compose: ${version} (${compose.join(' ')})`);
  return compose;
}

async function choose(): Promise<ComposeCommand> {
  const [program, ...rest] = (process.env['COMPOSE'] ?? '').split(' ').filter((word) => word !== '');
  if (program !== undefined) return [program, ...rest];
  if (await succeeds(['docker', 'compose', 'version'], { limitMs: 60_000 })) return ['docker', 'compose'];
  ensureProgram('docker-compose');
  return ['docker-compose'];
}
