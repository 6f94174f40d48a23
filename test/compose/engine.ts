import { ensureProgram } from '../support/servers/debian-package.ts';
import { startOwnEngine } from './own-engine.ts';
import { run, say, succeeds } from './run.ts';

export interface Engine {
  /** As DOCKER_HOST takes it. */
  readonly host: string;
  /** Started by this test: its images and containers go with it. */
  readonly own: boolean;
  stop(): Promise<void>;
}

/**
 * The engine that answers the `docker` of this machine; where none does, one of our own. Rejects
 * with the sentence that fixes it where neither is to be had.
 */
export async function findOrStartEngine(): Promise<Engine> {
  const running = await runningEngine();
  if (running !== undefined) return running;
  if (process.getuid?.() !== 0) {
    throw new Error('no Docker engine answers, and only root can start one: start one, or run this as root on Debian');
  }
  try {
    ensureProgram('dockerd', 'docker.io');
  } catch (error) {
    throw new Error(`no Docker engine answers: start one, or install what starts one. ${(error as Error).message}`);
  }
  // Where services are started with their package, it answers now.
  return (await runningEngine()) ?? startOwnEngine();
}

async function runningEngine(): Promise<Engine | undefined> {
  if (!(await succeeds(['docker', 'info'], { limitMs: 20_000 }))) return undefined;
  const endpoint = ['docker', 'context', 'inspect', '--format', '{{.Endpoints.docker.Host}}'] as const;
  const host = process.env['DOCKER_HOST'] || (await run(endpoint, { limitMs: 20_000 })).trim();
  say(`engine: the one that runs, ${host}`);
  return { host, own: false, stop: () => Promise.resolve() };
}
