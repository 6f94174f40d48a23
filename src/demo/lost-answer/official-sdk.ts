import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { CliIo } from '../../cli/io/io.ts';
import { pythonFault, pythonSdk } from '../devstack/python-sdk.ts';
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
