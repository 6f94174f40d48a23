import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Ambient } from '../../observability/ambient.ts';
import { cachedFolder } from './cached-folder.ts';
import { MissingPartError } from './missing-part-error.ts';

const run = promisify(execFile);

/** Kafka 4 brokers need it. */
const oldestMajor = 17;

export interface ProgramLookup {
  /** Programs are looked up in these folders, written like PATH. Absent: our own process's. */
  readonly searchPath?: string;
}

/** The environment for a program looked up in this way. */
export function lookupEnv(lookup: ProgramLookup): { env?: Record<string, string> } {
  return lookup.searchPath === undefined ? {} : { env: { PATH: lookup.searchPath } };
}

/**
 * The version of the Java that would run Kafka, as `17.0.15`. Throws `MissingPartError` if there is
 * none, or only an older one.
 */
export async function javaVersion(lookup: ProgramLookup): Promise<string> {
  const version = await askVersion(lookup);
  if (version !== undefined && Number(version.split('.')[0]) >= oldestMajor) return version;
  const found = version === undefined ? 'Java was not found' : `only Java ${version} was found`;
  const fixes =
    'install a JRE 17 or newer (Debian: `apt-get install openjdk-17-jre-headless`), start a Docker engine, or set KAFKA_BROKERS';
  throw new MissingPartError('kafka', `No Kafka: it needs Java ${oldestMajor} or newer and ${found}; ${fixes}.`);
}

async function askVersion(lookup: ProgramLookup): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run('java', ['-version'], { timeout: 20_000, ...lookupEnv(lookup) });
    return /version "([\d.]+)/.exec(stdout + stderr)?.[1];
  } catch {
    return undefined;
  }
}

const pom = fileURLToPath(new URL('./pom.xml', import.meta.url));
const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

export const kafkaVersion = '4.3.0';

export interface KafkaJars {
  /** Changes with the jars. */
  readonly fingerprint: string;
  /** The jars one by one: a class archive does not accept a wildcard. */
  readonly classPath: string;
}

/**
 * Kafka's 46 jars (44 MB), copied by Maven into the cache once: 5 s with a near mirror. Throws
 * `MissingPartError` when they are not in the cache and Maven is missing or cannot get them.
 */
export async function kafkaJars(
  deps: Pick<Ambient, 'clock' | 'log'>,
  options: ProgramLookup & { readonly cacheDir: string },
): Promise<KafkaJars> {
  const fingerprint = createHash('sha256')
    .update(await readFile(pom))
    .digest('hex')
    .slice(0, 12);
  const path = join(options.cacheDir, `kafka-${kafkaVersion}-jars-${fingerprint}`);
  if (!existsSync(path)) deps.log.info({ cacheDir: options.cacheDir }, 'fetching the jars of Kafka, once');
  await cachedFolder(deps, { path, build: (folder) => copyJars(folder, options) });
  const jars = (await readdir(path)).filter((file) => file.endsWith('.jar')).sort();
  return { fingerprint, classPath: jars.map((jar) => join(path, jar)).join(':') };
}

async function copyJars(folder: string, lookup: ProgramLookup): Promise<void> {
  const goal = ['-B', '-q', '-f', pom, copyDependencies, '-DincludeScope=runtime', `-DoutputDirectory=${folder}`];
  try {
    await run('mvn', goal, { cwd: folder, timeout: 5 * 60_000, maxBuffer: 2 ** 24, ...lookupEnv(lookup) });
  } catch (cause) {
    throw new MissingPartError('kafka', sentenceFor(cause), { cause });
  }
}

function sentenceFor(cause: unknown): string {
  const otherwise = 'start a Docker engine, or set KAFKA_BROKERS';
  if ((cause as NodeJS.ErrnoException).code === 'ENOENT') {
    return `No Kafka: its jars are not in the cache and Maven was not found; install it (Debian: \`apt-get install maven\`), ${otherwise}.`;
  }
  const { stdout = '', stderr = '' } = cause as { stdout?: string; stderr?: string };
  const reason = /^.*ERROR.*$/m.exec(stdout + stderr)?.[0] ?? String(cause);
  return `No Kafka: Maven could not fetch its jars (${reason.slice(0, 300)}); give it access to Maven Central, ${otherwise}.`;
}
