import { Command, InvalidArgumentError, Option } from 'commander';
import type { Pool } from 'pg';
import type { Stream } from '../domain/order.ts';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { readAccountStreams } from '../store/fleet/account-registry.ts';
import type { CliIo } from './io/io.ts';
import { ProgressBar, repairBy, withRepairPool } from './repair/repair-run.ts';

const examples = `
Examples:
  $ tidemark backfill SIM-1001                       both streams of the account, whole
  $ tidemark backfill SIM-1001 --stream prediction --wait 600
  $ tidemark backfill SIM-1001 --json | jq -r '.[].outcome'

The running service does it: the process that follows the account reads it from the platform, from its first order on, as audits do. It needs DATABASE_URL only.
Exit codes: 0 done, 1 it failed, 75 no service took it in time (the request is withdrawn then).`;

interface BackfillFlags {
  readonly stream?: Stream;
  readonly wait: number;
  readonly json?: true;
}

/** Asks for a complete read of an account. */
export function backfillCommand(io: CliIo): Command {
  return new Command('backfill')
    .description('Has the running service read a whole account, and waits until it is committed.')
    .argument('<account>', 'id of the account')
    .addOption(new Option('--stream <name>', 'only this stream').choices(['account', 'prediction']))
    .option('--wait <seconds>', 'how long to wait for the answer', backfillSeconds, 300)
    .option('--json', 'print [{ stream, outcome, detail }] as JSON')
    .addHelpText('after', examples)
    .action((accountId: string, flags: BackfillFlags) =>
      withRepairPool(io, (pool, signal) => backfill(io, { pool, signal }, accountId, flags)),
    );
}

export function backfillSeconds(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be whole seconds, at most 99999.');
}

async function backfill(
  io: CliIo,
  deps: { readonly pool: Pool; readonly signal: AbortSignal },
  accountId: string,
  flags: BackfillFlags,
): Promise<void> {
  const known = (await readAccountStreams(deps.pool, accountId)).filter(
    (stream) => stream === (flags.stream ?? stream),
  );
  if (known.length === 0)
    throw new ProgramError(
      `the service has never followed ${accountId}${flags.stream === undefined ? '' : ` on ${flags.stream}`}`,
      {
        code: 'NO_ACCOUNT',
        fix: '`tidemark status` shows the accounts that are followed.',
      },
    );
  const bar = io.isTerminal ? new ProgressBar({ out: io.stderr, nowMs: () => io.clock.monotonicMs() }) : undefined;
  const onWait = (ms: number) => bar?.show(undefined, `the service reads ${accountId}, ${Math.floor(ms / 1_000)} s`);
  const answers = await Promise.all(
    known.map(async (stream) => ({
      stream,
      ...(await repairBy(
        { ...deps, clock: io.clock, onWait },
        { kind: 'backfill', stream, accountId },
        flags.wait * 1_000,
      )),
    })),
  ).finally(() => bar?.end());
  io.stdout.write(
    flags.json
      ? `${JSON.stringify(answers)}\n`
      : answers.map(({ stream, outcome, detail }) => `${stream} ${accountId}: ${outcome}, ${detail}\n`).join(''),
  );
  if (answers.some(({ outcome }) => outcome === 'failed')) io.exit(exitCodes.failed);
  else if (answers.some(({ outcome }) => outcome === 'withdrawn')) io.exit(exitCodes.unresolved);
}
