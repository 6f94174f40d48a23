import { CliError, exitCodes } from './cli-error.ts';
import type { CliIo } from './io.ts';
import { readConfig } from './read-config.ts';

/** `http://host:port` of the admin port: as given, or that of the service of this configuration. Throws a `CliError` for what is no address. */
export function adminAddress(io: CliIo, given: string | undefined): string {
  if (given !== undefined) return checkedAddress(given);
  const { adminHost, adminPort } = readConfig(io);
  // One that listens everywhere is asked on loopback.
  const host = adminHost === '0.0.0.0' ? '127.0.0.1' : adminHost === '::' ? '::1' : adminHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${adminPort}`;
}

function checkedAddress(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return url.origin;
  throw new CliError(`${text} is not an address`, {
    code: 'USAGE',
    exitCode: exitCodes.usage,
    mend: 'Write it as http://127.0.0.1:9464',
  });
}
