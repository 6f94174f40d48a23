import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { exitCodes, ProgramError, sentenceOf } from '../../runtime/program-error.ts';
import { askedHost, httpAddress } from '../../runtime/url-host.ts';
import { fetchWithin } from '../../runtime/waiting.ts';
import type { CliIo } from '../io/io.ts';
import { readConfig } from '../io/read-config.ts';
import { adminPort, checkedAddress, restPort } from './rest-client.ts';

/** `http://host:port` of the admin port: as given, or by this configuration. */
export function adminAddress(io: CliIo, given: string | undefined): string {
  if (given !== undefined) return new URL(checkedAddress(given, 'http://127.0.0.1:9464')).origin;
  const config = readConfig(io);
  return httpAddress(askedHost(config.adminHost), config.adminPort);
}

/** Throws `NO_ANSWER`, or `NOT_TIDEMARK` where the answer is not JSON with 200 or 503. */
export async function askAdmin(
  io: Pick<CliIo, 'fetch' | 'clock'>,
  base: string,
  path: string,
  { withinMs, exitCode = exitCodes.unavailable }: { readonly withinMs: number; readonly exitCode?: number },
): Promise<{ readonly status: number; readonly body: unknown }> {
  const answer = await fetchWithin(io, `${base}${path}`, withinMs).catch((cause: unknown) => {
    throw new ProgramError(`no service answers at ${base}: ${sentenceOf(cause)}`, {
      code: 'NO_ANSWER',
      exitCode,
      cause,
      fix: 'Start the service with `tidemark serve`, or name its admin port with --url.',
    });
  });
  const { status, text } = answer;
  const body = jsonOrUndefined(text);
  if (body === undefined || (status !== 200 && status !== 503)) throw notAdminPort(base, exitCode);
  return { status, body };
}

export function notAdminPort(base: string, exitCode: number): ProgramError {
  return new ProgramError(`${base} is not the admin port of a Tidemark service`, {
    code: 'NOT_TIDEMARK',
    exitCode,
    fix: `Check the address: name ${adminPort} with --url, not ${restPort}.`,
  });
}
