import { Command, Option } from 'commander';
import { type AccountRepairDocument, accountRepairList } from '../contract/account-answers.ts';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { printable } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { follow } from './rest/follow.ts';
import { type RestClient, type RestRequest, understood } from './rest/rest-client.ts';
import { addRestFlags, type RestFlags, reasonText, restClient, segment, waitSeconds } from './rest/rest-flags.ts';

const examples = `
Examples:
  $ tidemark backfill SIM-1001                       both streams of the account, whole
  $ tidemark backfill SIM-1001 --stream prediction --wait 600
  $ tidemark backfill SIM-1001 --json | jq -r '.[].outcome'

The running service does it: the process that follows the account reads it from the platform, from its first order on, as audits do. It is asked over REST: the token needs ops:write, and ops:read.
Exit codes: 0 done, 1 it failed, 69 no service answers, 75 it is not done in time (it goes on without this command), 77 not allowed with this token.`;

interface BackfillFlags extends RestFlags {
  readonly stream?: string;
  readonly wait: number;
  readonly reason: string;
}

/** Asks for a complete read of an account. */
export function backfillCommand(io: CliIo): Command {
  const command = new Command('backfill')
    .description('Has the running service read a whole account, and waits until it is committed.')
    .argument('<account>', 'id of the account')
    .addOption(new Option('--stream <name>', 'only this stream').choices(['account', 'prediction']))
    .option('--wait <seconds>', 'how long to wait for the answer', waitSeconds(99_999), 300)
    .option('--reason <text>', 'why: recorded in the audit trail', reasonText, 'at the command line');
  return addRestFlags(command)
    .addHelpText('after', examples)
    .action((accountId: string, flags: BackfillFlags) => backfill(io, accountId, flags));
}

async function backfill(io: CliIo, accountId: string, flags: BackfillFlags): Promise<void> {
  const client = restClient(io, flags);
  const { stream, reason, wait } = flags;
  const path = `/v1/accounts/${segment(accountId)}`;
  const body = { reason, ...(stream !== undefined && { stream }) };
  const asked = await ask(client, { method: 'POST', path: `${path}/backfill`, body }).catch((error: unknown) => {
    throw error instanceof ProgramError && error.code === 'ACCOUNT_NOT_FOUND' ? unknown(accountId, stream) : error;
  });
  const repairs = await follow(io, asked, {
    read: async () => {
      const newest = await ask(client, { method: 'GET', path: `${path}/repairs` });
      return asked.map((each) => newest.find(({ requestId }) => requestId === each.requestId) ?? each);
    },
    isOver: (newest) => newest.every(({ state }) => state !== 'waiting'),
    progress: (_newest, waitedMs) => ({ words: `the service reads ${accountId}, ${Math.floor(waitedMs / 1_000)} s` }),
    seconds: wait,
  });
  const answers = repairs.map(answerOf);
  io.stdout.write(
    flags.json
      ? `${JSON.stringify(answers)}\n`
      : answers.map((each) => `${each.stream} ${accountId}: ${each.outcome}, ${printable(each.detail)}\n`).join(''),
  );
  if (answers.some(({ outcome }) => outcome === 'failed')) io.exit(exitCodes.failed);
  else if (answers.some(({ outcome }) => outcome !== 'done')) io.exit(exitCodes.unresolved);
}

async function ask(client: RestClient, request: RestRequest): Promise<readonly AccountRepairDocument[]> {
  return understood('reads of an account', accountRepairList, (await client.ask(request)).body).items;
}

function answerOf({ stream, state, detail }: AccountRepairDocument) {
  const open = 'no process that follows the account has read it yet; it stays asked for';
  return { stream, outcome: state, detail: detail ?? (state === 'waiting' ? open : '-') };
}

function unknown(accountId: string, stream: string | undefined): ProgramError {
  const where = stream === undefined ? '' : ` on ${stream}`;
  return new ProgramError(`the service has never followed ${accountId}${where}, or this token may not see it`, {
    code: 'NO_ACCOUNT',
    fix: '`tidemark status` shows the accounts that are followed.',
  });
}
