import { Command } from 'commander';
import { ProgramError, sentenceOf } from '../runtime/program-error.ts';
import { fetchWithin } from '../runtime/waiting.ts';
import type { CliIo } from './io/io.ts';
import { adminAddress, adminPortFix } from './rest/rest-client.ts';

const examples = `
Examples:
  $ tidemark healthcheck               /livez: is the process to be restarted?
  $ tidemark healthcheck --ready       /readyz: may traffic go to it?

For the health check of a container, whose image then needs neither shell nor curl. Exit codes: 0 yes, 1 no, or nothing answers within 5 s.`;

/** Below the time limit for the check in docker-compose.yml: a slow check still says why. */
const answerWithinMs = 5000;

interface HealthcheckFlags {
  readonly ready?: true;
  readonly url?: string;
}

/**
 * Asks a running service whether it lives, or is ready. Container engines know 0 and 1 and reserve
 * the others, so no answer is 1 as well, unlike in `status`.
 */
export function healthcheckCommand(io: CliIo): Command {
  return new Command('healthcheck')
    .description(
      'Asks a running service, at its admin port, whether it is alive, or ready; the exit code is the answer.',
    )
    .option('--ready', 'whether it is ready, not only alive')
    .option('--url <address>', 'the admin port; without it TIDEMARK_ADMIN_HOST and TIDEMARK_ADMIN_PORT')
    .addHelpText('after', examples)
    .action((flags: HealthcheckFlags) => runHealthcheck(io, flags));
}

async function runHealthcheck(io: CliIo, flags: HealthcheckFlags): Promise<void> {
  const base = adminAddress(io, flags.url);
  const { status, text } = await fetchWithin(io, `${base}${flags.ready ? '/readyz' : '/livez'}`, answerWithinMs).catch(
    (error: unknown) => {
      throw new ProgramError(`no service answers at ${base}: ${sentenceOf(error)}`, {
        code: 'NO_ANSWER',
        fix: 'Start the service with `tidemark serve`, or name its admin port with --url.',
        cause: error,
      });
    },
  );
  const verdict = verdictOf(text);
  if (verdict === undefined)
    throw new ProgramError(`${base} is not the admin port of a Tidemark service`, {
      code: 'NOT_TIDEMARK',
      fix: `Check the address: ${adminPortFix}`,
    });
  if (status !== 200)
    throw new ProgramError(`the service is ${verdict}`, { code: 'UNHEALTHY', fix: '`tidemark status` says why.' });
  io.stdout.write(`${verdict}\n`);
}

/** `{"status":"ready"}`: another program on that port must not be taken for a healthy service. */
export function verdictOf(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null || !('status' in body)) return undefined;
    return typeof body.status === 'string' ? body.status : undefined;
  } catch {
    return undefined;
  }
}
