import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MissingPartError } from './missing-part-error.ts';

const run = promisify(execFile);

/** Kafka 4 brokers need it. */
const oldestMajor = 17;

export interface ProgramLookup {
  /** Where programs are looked up, as PATH is written. Absent: as our own process does. */
  readonly searchPath?: string;
}

/** The environment for a program that is looked up so. */
export function lookupEnv(lookup: ProgramLookup): { env?: Record<string, string> } {
  return lookup.searchPath === undefined ? {} : { env: { PATH: lookup.searchPath } };
}

/** The version of the Java that would run Kafka, as `17.0.15`. Throws `MissingPartError` where there is none, or only an older one. */
export async function javaVersion(lookup: ProgramLookup): Promise<string> {
  const version = await askVersion(lookup);
  if (version !== undefined && Number(version.split('.')[0]) >= oldestMajor) return version;
  const found = version === undefined ? 'Java was not found' : `only Java ${version} was found`;
  const mends =
    'install a JRE 17 or newer (Debian: `apt-get install openjdk-17-jre-headless`), start a Docker engine, or set KAFKA_BROKERS';
  throw new MissingPartError('kafka', `No Kafka: it needs Java ${oldestMajor} or newer and ${found}; ${mends}.`);
}

async function askVersion(lookup: ProgramLookup): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run('java', ['-version'], { timeout: 20_000, ...lookupEnv(lookup) });
    return /version "([\d.]+)/.exec(stdout + stderr)?.[1];
  } catch {
    return undefined;
  }
}
