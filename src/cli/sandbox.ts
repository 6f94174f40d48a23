import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { present } from '../domain/present.ts';
import { createLogger } from '../observability/logger.ts';
import { exitCodes, ProgramError, sentenceOf, usage } from '../runtime/program-error.ts';
import { unlessAborted } from '../runtime/waiting.ts';
import { type AlpacaDescription, alpacaSettings } from '../sandbox/alpaca/describe-alpaca.ts';
import { startAlpaca } from '../sandbox/alpaca/start-alpaca.ts';
import { platformSettings, type SandboxDescription } from '../sandbox/describe-sandbox.ts';
import { type SandboxInput, sandboxOptions, scenarioSchema } from '../sandbox/sandbox-options.ts';
import { type RunningSandbox, startSandbox } from '../sandbox/start-sandbox.ts';
import { wholeNumber } from './io/flag-text.ts';
import { abortOnSignal, type CliIo, printJson, printResult } from './io/io.ts';

const examples = `
Examples:
  $ tidemark sandbox                                 a made-up market of 20 changes a second, on free ports
  $ tidemark sandbox --port 4600 --rate 1000         more of it, at a known address
  $ tidemark sandbox --json --scenario outage.json   for a script: the first line has all that a client needs
  $ tidemark sandbox --venue alpaca                  Alpaca's trading API and stream over the same exchange

It runs until it gets a signal, or POST /stop on its control port. GET / there lists the faults that it can make.`;

interface Flags {
  readonly venue: 'platform' | 'alpaca';
  readonly host?: string;
  readonly port?: number;
  readonly stagingPort?: number;
  readonly authPort?: number;
  readonly controlPort?: number;
  readonly seed?: number;
  readonly rate?: number | 'max';
  readonly openOrders?: number;
  readonly knownOrders?: number;
  readonly accounts?: number;
  readonly ledger?: 'full' | 'brief';
  readonly scenario?: string;
  readonly schema?: true;
  readonly json?: true;
}

/** Runs a copy of the platform, by default on loopback, with a moving market. */
export function sandboxCommand(io: CliIo): Command {
  return new Command('sandbox')
    .description(
      'Runs a trading platform on this machine: sign-in, accounts, order lists, order streams, and a seeded market. Nothing in it is real.',
    )
    .addOption(
      new Option('--venue <name>', 'what it is: the platform that Tidemark follows, or Alpaca')
        .choices(['platform', 'alpaca'])
        .default('platform'),
    )
    .option(
      '--host <address>',
      'address that its ports listen on; a program that reaches the control port controls it (default: 127.0.0.1)',
    )
    .option('--port <port>', 'of the production address (default: any free one)', wholeNumber)
    .option('--staging-port <port>', 'of the staging address, where prediction orders are', wholeNumber)
    .option('--auth-port <port>', 'of the sign-in address', wholeNumber)
    .option('--control-port <port>', 'of the control port', wholeNumber)
    .option('--seed <number>', 'the same seed makes the same orders', wholeNumber)
    .option('--rate <changes>', 'changes a second, 0 for none, max for as fast as the machine can', rateText)
    .option('--open-orders <count>', 'orders that the market keeps working', wholeNumber)
    .option('--known-orders <count>', 'orders there already at the start', wholeNumber)
    .option('--accounts <count>', 'accounts that the client may see', wholeNumber)
    .addOption(new Option('--ledger <detail>', 'how much the ledger keeps of each change').choices(['full', 'brief']))
    .option(
      '--scenario <file>',
      'JSON with any of the options, accounts, clients and a timeline of faults; flags win over it',
    )
    .option('--schema', 'print the JSON Schema of scenario files, and end')
    .option('--json', 'print one line of JSON with addresses, client and users, and nothing else')
    .addHelpText('after', examples)
    .action((flags: Flags) => runSandbox(io, flags));
}

async function runSandbox(io: CliIo, flags: Flags): Promise<void> {
  if (flags.schema) return printJson(io, scenarioSchema(), 2);
  const options = checked(optionsOf(io, flags));
  const looks = { pretty: io.isTerminal, colour: io.colours.areOn('stderr') };
  const log = createLogger({ destination: io.stderr }, { level: 'warn', version: io.version, ...looks, secrets: [] });
  const deps = { clock: io.clock, random: io.random, log };
  if (flags.venue === 'alpaca') await serve(io, flags, await startAlpaca(options, deps), introduceAlpaca);
  else await serve(io, flags, await startSandbox(options, deps), introduce);
}

/** Says where it is, and waits for its end. */
async function serve<Description>(
  io: CliIo,
  flags: Flags,
  sandbox: RunningSandbox<Description>,
  words: (description: Description) => string,
): Promise<void> {
  printResult(io, flags, sandbox.description, words(sandbox.description));
  using interrupted = abortOnSignal(io);
  await unlessAborted(sandbox.stopAsked, interrupted.signal).catch(() => undefined);
  await sandbox.stop();
}

/** The scenario; the flags override it. */
function optionsOf(io: CliIo, flags: Flags): SandboxInput {
  const scenario = flags.scenario === undefined ? {} : readScenario(io, flags.scenario);
  const { host, accounts, ledger: detail, port: platform, stagingPort: staging, authPort: auth } = flags;
  // By default as many are known as are open: an open order is known.
  const { controlPort: control, seed, rate, openOrders, knownOrders = openOrders } = flags;
  return {
    ...scenario,
    ...present({ host, accounts }),
    ledger: { ...scenario.ledger, ...present({ detail }) },
    ports: { ...scenario.ports, ...present({ platform, staging, auth, control }) },
    market: { ...scenario.market, ...present({ seed, rate, openOrders, knownOrders }) },
  };
}

function checked(options: SandboxInput): SandboxInput {
  const { error } = sandboxOptions.safeParse(options);
  if (error === undefined) return options;
  throw usage('a sandbox cannot be made from these options', z.prettifyError(error));
}

function readScenario(io: CliIo, path: string): SandboxInput {
  try {
    const parsed: unknown = JSON.parse(io.readFile(path));
    sandboxOptions.parse(parsed);
    return parsed as SandboxInput;
  } catch (error) {
    throw new ProgramError(`${path} is not a scenario that can be played`, {
      code: 'BAD_SCENARIO',
      exitCode: exitCodes.usage,
      fix: `${reasonOf(error)}\n\`tidemark sandbox --schema\` shows the format of one.`,
      cause: error,
    });
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof z.ZodError) return z.prettifyError(error);
  return error instanceof SyntaxError ? `It is not JSON: ${error.message}` : sentenceOf(error);
}

function introduce(sandbox: SandboxDescription): string {
  const accounts = sandbox.users.map(
    ({ username, password, mfa, accounts: ids }) =>
      `  ${username.padEnd(8)} password ${password}${mfa === null ? '' : `, code ${mfa}`}, accounts ${ids.map(({ id }) => id).join(' ')}`,
  );
  return [
    'A trading platform on this machine. Nothing in it is real.',
    '',
    ...settingLines(platformSettings(sandbox)),
    '',
    'Users:',
    ...accounts,
    ...ending(sandbox),
  ].join('\n');
}

function rateText(text: string): number | 'max' {
  if (text === 'max') return 'max';
  if (/^\d{1,8}(\.\d{1,3})?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number, or max.');
}

function introduceAlpaca(sandbox: AlpacaDescription): string {
  return [
    "Alpaca's trading API on this machine. Nothing in it is real.",
    '',
    ...settingLines(alpacaSettings(sandbox)),
    '',
    'Accounts:',
    ...sandbox.accounts.map(
      ({ accountNumber, keyId, secretKey }) => `  ${accountNumber}  key ${keyId}  secret ${secretKey}`,
    ),
    ...ending(sandbox),
  ].join('\n');
}

function settingLines(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).map(([name, value]) => `${name}=${value}`);
}

function ending({ control }: { readonly control: string }): string[] {
  return ['', `Control port: ${control} (GET / lists what it can do)`, 'Ctrl-C stops it.', ''];
}
