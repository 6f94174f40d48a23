import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { kafkaImage } from '../../src/demo/devstack/start-kafka.ts';
import { postgresImage } from '../../src/demo/devstack/start-postgres.ts';
import type { Engine } from './engine.ts';
import { run, say, succeeds } from './run.ts';
import { provideStandIns, standInFor } from './stand-ins.ts';
import { watcherImage } from './watcher-image.ts';

/** Those that we built, by their tags, and those that this engine lacks in the end. */
export interface Images {
  readonly standIns: readonly string[];
  readonly missing: readonly string[];
}

/** The name without its digest. */
export function tagOf(image: string): string {
  return image.split('@')[0] ?? image;
}

/** Those that the two files name, those of the devstack, and testcontainers' watcher. */
export function neededImages(): string[] {
  const pulled = Object.values(readServices()).filter(({ build }) => build === undefined);
  return [...new Set([readBase(), ...pulled.map(({ image }) => image), postgresImage, kafkaImage, watcherImage])];
}

/**
 * What is said behind docker-compose.yml where stand-ins are used: these have the tags, and can't
 * have the digests. Undefined where there are none.
 */
export function overrideFor(standIns: readonly string[]): object | undefined {
  if (standIns.length === 0) return undefined;
  const args = { NODE_IMAGE: tagOf(readBase()) };
  const services: Record<string, object> = {};
  for (const [name, { image, build }] of Object.entries(readServices())) {
    if (build !== undefined && standIns.includes(args.NODE_IMAGE)) services[name] = { build: { context: build, args } };
    if (build === undefined && standIns.includes(tagOf(image))) services[name] = { image: tagOf(image) };
  }
  return { services };
}

function readServices(): Record<string, { image: string; build?: string }> {
  return parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }).services;
}

/** What the Dockerfile starts from. */
export function readBase(): string {
  const [, base] = /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  if (base === undefined) throw new Error('the Dockerfile names no NODE_IMAGE');
  return base;
}

/**
 * Has every image there: pulls what is not, and builds a stand-in for what can't be pulled, in an
 * engine of our own alone. Into somebody else's engine no false image goes under a real name: there
 * it rejects with what is missing.
 */
export async function gatherImages(engine: Engine): Promise<Images> {
  const wanted = neededImages();
  const lacking: string[] = [];
  for (const image of wanted) if (!(await isThere(engine, image))) lacking.push(image);
  const standIns = [...new Set(lacking.filter((image) => standInFor(image) !== undefined).map(tagOf))];
  if (standIns.length > 0 && !engine.own) {
    throw new Error(
      `the engine at ${engine.host} lacks ${standIns.join(', ')}, which can't be pulled. Load them, or stop that engine: as root on Debian this ` +
        'test starts one of its own and builds stand-ins.',
    );
  }
  if (standIns.length > 0) await provideStandIns(engine, standIns);
  // Grafana is in no package registry, and testcontainers' watcher is a program of its own: what
  // they do is left out, and said to be.
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
