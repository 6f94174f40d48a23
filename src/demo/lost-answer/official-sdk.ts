import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { CliIo } from '../../cli/io/io.ts';
import { ProgramError } from '../../runtime/program-error.ts';
import { cachedFolder } from '../devstack/cached-folder.ts';
import { lookupEnv, type ProgramLookup } from '../devstack/kafka-jars.ts';
import { inheritedEnv } from '../stack/start-parts.ts';

const run = promisify(execFile);

/** Alpaca's own, as it is. */
export const sdkName = 'alpaca-py 0.44.0';
const program = fileURLToPath(new URL('./place-once.py', import.meta.url));
/** Its pauses between two tries are 3 s each. */
const patienceMs = 60_000;

interface SdkWords {
  readonly told: string;
  readonly words: string;
}

/** Places the one order by the SDK, and answers with its words. `settings`: address and keys. */
export async function placeBySdk(
  io: CliIo,
  settings: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<SdkWords> {
  const folder = await fetchSdk(io);
  // The venue is on this machine.
  const env = { ...inheritedEnv(io), no_proxy: '*', PYTHONPATH: folder, ...settings };
  const ran = run('python3', [program], { env, signal, timeout: patienceMs });
  const { stdout } = await ran.catch((cause: unknown) => {
    signal.throwIfAborted();
    throw pythonFault(`${sdkName} could not be run`, cause);
  });
  return JSON.parse(stdout) as SdkWords;
}

export function fetchSdk({ clock, cacheDir }: CliIo): Promise<string> {
  return pythonSdk({ clock }, { cacheDir, name: sdkName.replace(' ', '==') });
}

/**
 * A Python package with all its dependencies, fetched once, in its own folder for PYTHONPATH. A
 * virtual environment would do the same, and Debian's python3 cannot make one. Throws a
 * `ProgramError` with the remedy if there is no Python, or no package index.
 */
export function pythonSdk(
  deps: Pick<CliIo, 'clock'>,
  { cacheDir, name, ...lookup }: ProgramLookup & { readonly cacheDir: string; readonly name: string },
): Promise<string> {
  const build = async (folder: string) => {
    const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', folder, name];
    await run('python3', args, { timeout: 180_000, maxBuffer: 2 ** 24, ...lookupEnv(lookup) }).catch(
      (cause: unknown) => {
        throw pythonFault(`${name} could not be fetched`, cause);
      },
    );
  };
  return cachedFolder(deps, { path: join(cacheDir, 'python-sdks', name), build });
}

/** `python3` could not be started, or ended with a fault. `what`: the sentence begins with it. */
function pythonFault(what: string, cause: unknown): ProgramError {
  const { code, stderr = '' } = cause as { readonly code?: unknown; readonly stderr?: string };
  const isMissing = code === 'ENOENT' || stderr.includes('No module named pip');
  const lastLine = stderr.trim().split('\n').at(-1) || String(cause);
  const why = isMissing ? 'python3 with pip was not found' : lastLine.slice(0, 300);
  const fix = isMissing
    ? 'Install Python 3.10 or newer with pip (Debian: `apt-get install python3-pip`).'
    : 'pip has to reach a package index: PIP_INDEX_URL names another one, HTTPS_PROXY a proxy.';
  return new ProgramError(`${what}: ${why}`, { code: 'NO_PYTHON_SDK', fix, cause });
}
