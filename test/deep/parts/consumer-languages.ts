import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cachedFolder } from '../../../src/demo/devstack/cached-folder.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { cacheDir } from '../../support/servers/cache-dir.ts';

const pom = 'docs/consumers/pom.xml';
const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const pythonClient = 'confluent-kafka==2.16.1';
export const pythonPath = join(cacheDir, 'python', pythonClient);

/**
 * A package of Python, fetched once; the folder is for PYTHONPATH. None of
 * those that are asked for needs another one.
 */
export function pythonPackage(name: string): Promise<string> {
  const build = async (folder: string) =>
    fetched('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', folder, name]);
  return cachedFolder({ clock: systemClock }, { path: join(cacheDir, 'python', name), build });
}

/** A package of npm, in a folder that holds nothing else. */
export function nodeSdk(name: string): Promise<string> {
  const build = async (folder: string) =>
    fetched('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-save', '--prefix', folder, name]);
  return cachedFolder({ clock: systemClock }, { path: join(cacheDir, 'node-sdks', name.replace('/', '+')), build });
}

/** What a file for Maven names, fetched once. `prepare` then has the folder. */
function mavenFolder(name: string, file: string, prepare: (folder: string) => void = () => {}): Promise<string> {
  const path = join(cacheDir, `${name}-${createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 12)}`);
  const build = async (folder: string) => {
    fetched('mvn', ['-B', '-q', '-f', file, copyDependencies, `-DoutputDirectory=${folder}`]);
    prepare(folder);
  };
  return cachedFolder({ clock: systemClock }, { path, build });
}

function jarsIn(folder: string): string {
  const jars = readdirSync(folder).filter((file) => file.endsWith('.jar'));
  return jars.map((jar) => join(folder, jar)).join(':');
}

/** The command that runs a program in Java of docs/consumers. */
export async function javaProgram(file: string): Promise<string[]> {
  return ['java', '-cp', jarsIn(await mavenFolder('java-consumers', pom)), `docs/consumers/${file}`];
}

/** The command that `connect-standalone.sh` runs, and a folder with the connector of the recipe. */
export async function kafkaConnect(): Promise<{ command: string[]; plugins: string }> {
  const folder = await mavenFolder('kafka-connect', 'test/deep/parts/kafka-connect.pom.xml', (made) => {
    const plugins = join(made, 'plugins');
    mkdirSync(plugins);
    const archives = readdirSync(made).filter((file) => file.endsWith('.tar.gz'));
    for (const archive of archives) fetched('tar', ['-xzf', join(made, archive), '-C', plugins]);
  });
  const options = ['-Xmx256m', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-cp', jarsIn(folder)];
  return {
    command: ['java', ...options, 'org.apache.kafka.connect.cli.ConnectStandalone'],
    plugins: join(folder, 'plugins'),
  };
}

/**
 * The command that runs statements as `sql-client.sh` does, with a cluster of its own in the same
 * process; it takes `-f FILE` and more.
 */
export async function flinkSql(): Promise<{ command: string[]; env: Record<string, string> }> {
  const folder = await mavenFolder('flink', 'test/deep/parts/flink.pom.xml', (made) => {
    writeFileSync(join(made, 'config.yaml'), 'execution.target: local\n');
  });
  const options = ['-Xmx512m', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-cp', jarsIn(folder)];
  return { command: ['java', ...options, 'org.apache.flink.table.client.SqlClient'], env: { FLINK_CONF_DIR: folder } };
}

/**
 * The command that runs a program of docs/consumers in each language; what it needs and is not
 * there is fetched once, beside everything else that tests keep.
 */
export const languages: Readonly<Record<string, (program: 'consumer' | 'verify') => Promise<string[]>>> = {
  TypeScript: async (program) => [process.execPath, `docs/consumers/${program}.ts`],
  Python: async (program) => {
    await pythonPackage(pythonClient);
    return ['python3', `docs/consumers/${program}.py`];
  },
  Java: (program) => javaProgram(program === 'verify' ? 'Verify.java' : 'Consumer.java'),
};

function fetched(program: string, args: string[]): void {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 180_000 });
  if (status !== 0)
    throw new Error(
      `${program} could not fetch what a program needs (python3 3.10 with pip; npm; a JDK 17 and Maven): ${stdout}${stderr}`,
    );
}
