import { Command } from 'commander';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import type { CliIo } from './io/io.ts';
import { adminAddress, askAdmin, notAdminPort } from './rest/admin-port.ts';

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
  const path = flags.ready ? '/readyz' : '/livez';
  const { status, body } = await askAdmin(io, base, path, { withinMs: answerWithinMs, exitCode: exitCodes.failed });
  const verdict = verdictOf(body);
  if (verdict === undefined) throw notAdminPort(base, exitCodes.failed);
  if (status !== 200)
    throw new ProgramError(`the service is ${verdict}`, { code: 'UNHEALTHY', fix: '`tidemark status` says why.' });
  io.stdout.write(`${verdict}\n`);
}

/** `{"status":"ready"}`: another program on that port must not be taken for a healthy service. */
export function verdictOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('status' in body)) return undefined;
  return typeof body.status === 'string' ? body.status : undefined;
}
