import { Command } from 'commander';
import { fetchWithin } from '../runtime/fetch-within.ts';
import { adminAddress } from './admin-address.ts';
import { CliError, exitCodes } from './cli-error.ts';
import { formatStatus } from './format-status.ts';
import type { CliIo } from './io.ts';
import { sentenceOf } from './report-error.ts';
import { adminPortMend } from './which-port.ts';

const examples = `
Examples:
  $ tidemark status
  $ tidemark status --url http://10.0.0.7:9464
  $ tidemark status --json | jq .status.relay

Exit codes: 0 ready (or degraded), 1 not ready, 69 nothing answers.`;

const answerWithinMs = 7000;

/** Asks a running service how it is. */
export function statusCommand(io: CliIo): Command {
  return new Command('status')
    .description('Asks a running service, at its admin port, how it is.')
    .option('--url <address>', 'the admin port; without it TIDEMARK_ADMIN_HOST and TIDEMARK_ADMIN_PORT')
    .option('--json', 'print { health, status } as JSON')
    .addHelpText('after', examples)
    .action((options: { url?: string; json?: true }) => runStatus(io, options));
}

async function runStatus(io: CliIo, options: { url?: string; json?: true }): Promise<void> {
  const base = adminAddress(io, options.url);
  const [health, status] = await Promise.all([ask(io, base, '/readyz?verbose'), ask(io, base, '/status')]);
  if (options.json) io.stdout.write(`${JSON.stringify({ health, status }, undefined, 2)}\n`);
  else io.stdout.write(formatStatus({ health, status }, io.clock.nowMs()));
  const verdict = typeof health === 'object' && health !== null && 'status' in health ? health.status : undefined;
  if (verdict !== 'ready' && verdict !== 'degraded') io.exit(exitCodes.failed);
}

async function ask(io: CliIo, base: string, path: string): Promise<unknown> {
  const notOurs = (cause?: unknown) =>
    new CliError(`what answers at ${base} is not the admin port of a Tidemark service`, {
      code: 'NOT_TIDEMARK',
      exitCode: exitCodes.unavailable,
      mend: `Check the address: ${adminPortMend}`,
      cause,
    });
  try {
    const { status, text } = await fetchWithin(io, `${base}${path}`, answerWithinMs);
    const body: unknown = JSON.parse(text);
    if (status !== 200 && status !== 503) throw notOurs();
    return body;
  } catch (error) {
    if (error instanceof CliError) throw error;
    if (error instanceof SyntaxError) throw notOurs(error);
    throw new CliError(`no service answers at ${base}: ${sentenceOf(error)}`, {
      code: 'NO_ANSWER',
      exitCode: exitCodes.unavailable,
      mend: 'Start the service with `tidemark serve`, or name its admin port with --url.',
      cause: error,
    });
  }
}
