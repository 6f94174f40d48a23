import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { kafkaImage } from '../../src/devstack/start-kafka.ts';
import { postgresImage } from '../../src/devstack/start-postgres.ts';
import type { Engine } from './engine.ts';
import { run, say, succeeds } from './run.ts';
import { provideStandIns, standInFor } from './stand-ins.ts';
import { watcherImage } from './watcher-image.ts';

/** Which of them this engine has in the end, and which of those we built. */
export interface Images {
  readonly standIns: readonly string[];
  readonly missing: readonly string[];
}

/** Those that the two files name, those of the devstack, and testcontainers' watcher. */
export function neededImages(): string[] {
  const { services }: { services: Record<string, { image: string; build?: string }> } = parse(
    readFileSync('docker-compose.yml', 'utf8'),
    { merge: true },
  );
  const bases = [...readFileSync('Dockerfile', 'utf8').matchAll(/^FROM (\S+)/gm)].map(([, image]) => image ?? '');
  const pulled = Object.values(services).filter(({ build }) => build === undefined);
  return [...new Set([...bases, ...pulled.map(({ image }) => image), postgresImage, kafkaImage, watcherImage])];
}

/**
 * Has every image there: pulls what is not, and builds a stand-in for what can't be pulled, in an engine of our own alone. Into somebody else's engine no false
 * image goes under a real name: there it rejects with what is missing.
 */
export async function gatherImages(engine: Engine): Promise<Images> {
  const wanted = neededImages();
  const lacking: string[] = [];
  for (const image of wanted) if (!(await isThere(engine, image))) lacking.push(image);
  const standIns = lacking.filter((image) => standInFor(image) !== undefined);
  if (standIns.length > 0 && !engine.own) {
    throw new Error(
      `the engine at ${engine.host} lacks ${standIns.join(', ')}, which can't be pulled. Load them, or stop that engine: as root on Debian this ` +
        'test starts one of its own and builds stand-ins.',
    );
  }
  if (standIns.length > 0) await provideStandIns(engine, standIns);
  // Grafana is in no package registry, and testcontainers' watcher is a program of its own: what they do is left out, and said to be.
  return { standIns, missing: lacking.filter((image) => standInFor(image) === undefined) };
}

async function isThere(engine: Engine, image: string): Promise<boolean> {
  const env = { DOCKER_HOST: engine.host };
  if (await succeeds(['docker', 'image', 'inspect', image], { limitMs: 20_000, env })) return true;
  return run(['docker', 'pull', image], { limitMs: 300_000, env }).then(
    () => {
      say(`image: ${image} pulled`);
      return true;
    },
    (error: Error) => {
      say(`image: ${image} can't be pulled: ${error.message.trim().split('\n').at(-1)}`);
      return false;
    },
  );
}
