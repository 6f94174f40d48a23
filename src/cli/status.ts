import { Command, Option } from 'commander';
import { exitCodes, ProgramError, sentenceOf } from '../runtime/program-error.ts';
import { fetchWithin } from '../runtime/waiting.ts';
import { type StatusAnswers, showStatus } from './format-status.ts';
import type { CliIo } from './io.ts';
import { adminAddress, adminPortFix } from './rest-client.ts';

const examples = `
Examples:
  $ tidemark status
  $ tidemark status --url http://10.0.0.7:9464
  $ tidemark status --watch
  $ tidemark status --json | jq .status.relay

The first line is the verdict. Exit codes: 0 trusted, 1 in doubt, degraded, not ready or on standby, 69 nothing answers.`;

const answerWithinMs = 7000;
const watchEveryMs = 2000;
/** Moves to the first line of a terminal and clears it. */
const clearScreen = '\u001b[H\u001b[2J';

interface StatusFlags {
  readonly url?: string;
  readonly json?: true;
  readonly watch?: true;
}

/** Shows the state of a running service. */
export function statusCommand(io: CliIo): Command {
  return new Command('status')
    .description('Shows whether the data of a running service can be trusted, and its state, read from its admin port.')
    .option('--url <address>', 'the admin port; without it TIDEMARK_ADMIN_HOST and TIDEMARK_ADMIN_PORT')
    .option('--watch', 'show it again every two seconds, until Ctrl-C')
    .addOption(new Option('--json', 'print { health, status } as JSON').conflicts('watch'))
    .addHelpText('after', examples)
    .action(async (flags: StatusFlags) => {
      const base = adminAddress(io, flags.url);
      const isWell = flags.watch === true ? await watch(io, base) : await showOnce(io, base, flags.json === true);
      if (!isWell) io.exit(exitCodes.failed);
    });
}

async function showOnce(io: CliIo, base: string, asJson: boolean): Promise<boolean> {
  const answers = await read(io, base);
  const { text, isWell } = showStatus(answers, io.clock.nowMs());
  io.stdout.write(asJson ? `${JSON.stringify(answers, undefined, 2)}\n` : text);
  return isWell;
}

/** Returns the last verdict. A service that does not answer is said and asked again. */
async function watch(io: CliIo, base: string): Promise<boolean> {
  const interrupted = new AbortController();
  const unsubscribe = io.onSignal(() => interrupted.abort());
  let last = false;
  try {
    while (!interrupted.signal.aborted) {
      const shown = await read(io, base).then(
        (answers) => showStatus(answers, io.clock.nowMs()),
        (error: unknown) => ({ text: `${sentenceOf(error)}\n`, isWell: false }),
      );
      last = shown.isWell;
      io.stdout.write(io.isTerminal ? `${clearScreen}${shown.text}` : `${shown.text}\n`);
      await io.clock.sleep(watchEveryMs, interrupted.signal);
    }
  } finally {
    unsubscribe();
  }
  return last;
}

async function read(io: CliIo, base: string): Promise<StatusAnswers> {
  const [health, status] = await Promise.all([ask(io, base, '/readyz?verbose'), ask(io, base, '/status')]);
  return { health, status };
}

async function ask(io: CliIo, base: string, path: string): Promise<unknown> {
  const notOurs = (cause?: unknown) =>
    new ProgramError(`${base} is not the admin port of a Tidemark service`, {
      code: 'NOT_TIDEMARK',
      exitCode: exitCodes.unavailable,
      fix: `Check the address: ${adminPortFix}`,
      cause,
    });
  try {
    const { status, text } = await fetchWithin(io, `${base}${path}`, answerWithinMs);
    const body: unknown = JSON.parse(text);
    if (status !== 200 && status !== 503) throw notOurs();
    return body;
  } catch (error) {
    if (error instanceof ProgramError) throw error;
    if (error instanceof SyntaxError) throw notOurs(error);
    throw new ProgramError(`no service answers at ${base}: ${sentenceOf(error)}`, {
      code: 'NO_ANSWER',
      exitCode: exitCodes.unavailable,
      fix: 'Start the service with `tidemark serve`, or name its admin port with --url.',
      cause: error,
    });
  }
}
