import { Command, InvalidArgumentError, Option } from 'commander';
import type { z } from 'zod';
import { quarantineAnswer, quarantinePage } from '../contract/quarantine-bodies.ts';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { formatTable, printable, tableText } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { addJobFlags, cancelJobVerb, isForAll, type JobFlags, jobsVerb, runJob } from './quarantine-jobs.ts';
import { follow } from './rest/follow.ts';
import { type RestClient, understood } from './rest/rest-client.ts';
import { type RestFlags, restClient, segment, waitSeconds } from './rest/rest-flags.ts';
import { type ListFlags, type ListVerb, listCommand, type Verb, verbCommand } from './rest/verb.ts';

const examples = `
Examples:
  $ tidemark quarantine ls                    messages that were unreadable or not accepted, the oldest first
  $ tidemark quarantine show 17               one whole row, with the message as it came
  $ tidemark quarantine retry 17 18           the order is read again from the platform, by the running service
  $ tidemark quarantine discard 17            it was checked, and needs no action
  $ tidemark quarantine retry --all --only bad_decimal --reason "the new build reads it"
  $ tidemark quarantine discard --all --stream account --account SIM-1001 --reason "test data" --dry-run
  $ tidemark quarantine ls --json | jq -r '.[] | select(.reason == "bad_decimal") | .id'

The service is asked over REST: the token needs ops:read, and ops:write for retry and discard. With --all it journals one job, which goes on after this command and over a takeover.
A retry never uses the old bytes again: they are older than the facts known by now. Exit codes: 0 done, 1 not all of it, 69 no service answers, 75 it goes on without this command, 77 not allowed with this token.`;

type Row = z.infer<typeof quarantineAnswer>;

export const quarantineLs: ListVerb<typeof quarantinePage, ListFlags & { readonly after?: string }> = {
  name: 'ls',
  does: 'Lists the rows that were not dealt with yet, the oldest first.',
  route: 'GET /v1/quarantine',
  flags: (command) =>
    command.addOption(
      new Option('--after <id>', 'only rows after this one').argParser(rowId).default(undefined, 'from the first'),
    ),
  filter: ({ after }) => ({ after }),
  about: 'the quarantine',
  page: quarantinePage,
  text: (rows, { after }) =>
    tableText(
      rows,
      {
        ID: 'id',
        OBSERVED: 'observedAt',
        STREAM: 'stream',
        ACCOUNT: 'accountId',
        ORDER: 'orderId',
        REASON: 'reason',
        DETAIL: 'detail',
      },
      after === undefined ? 'The quarantine is empty.' : 'There are no rows after that one.',
    ),
};

export const quarantineShow: Verb<typeof quarantineAnswer> = {
  name: 'show',
  does: 'Prints one row, with the message as it came.',
  route: 'GET /v1/quarantine/{rowId}',
  takes: [['<id>', 'of the row', rowId]],
  about: 'a row of the quarantine',
  answer: quarantineAnswer,
  text: rowText,
};

/** `quarantine ls`, `show`, `retry` and `discard`, and the jobs. */
export function quarantineCommand(io: CliIo): Command {
  const command = new Command('quarantine')
    .description('Shows messages that were unreadable or not accepted, and deals with them.')
    .addCommand(listCommand(io, quarantineLs))
    .addCommand(verbCommand(io, quarantineShow))
    .addHelpText('after', examples);
  addJobFlags(
    command
      .command('retry')
      .description(
        'Has the running service read the orders again from the platform; a row is dealt with once its order passes ingest.',
      )
      .argument('[ids...]', 'of the rows', rowIds)
      .option(
        '--wait <seconds>',
        'how long to wait for the answers: 60 without it, and 3600 with --all',
        waitSeconds(99_999),
      ),
  ).action((ids: string[], flags: JobFlags) =>
    isForAll(ids, flags) ? runJob(io, 'retry', flags) : dealWith(io, 'retry', ids, flags),
  );
  addJobFlags(
    command
      .command('discard')
      .description('Marks rows as dealt with. They are kept as long as the log is.')
      .argument('[ids...]', 'of the rows', rowIds),
  ).action((ids: string[], flags: JobFlags) =>
    isForAll(ids, flags) ? runJob(io, 'discard', flags) : dealWith(io, 'discard', ids, flags),
  );
  return command.addCommand(verbCommand(io, jobsVerb)).addCommand(verbCommand(io, cancelJobVerb));
}

function rowId(text: string): string {
  if (/^\d{1,18}$/.test(text)) return String(BigInt(text));
  throw new InvalidArgumentError('It must be the number of a row.');
}

function rowIds(text: string, before: string[] = []): string[] {
  return [...before, rowId(text)];
}

function rowText({ raw, retry, id, stream, accountId, orderId, reason, detail, ...times }: Row): string {
  const { observedAt, recordedAt, dealtAt } = times;
  const fields = { id, stream, accountId, orderId, reason, detail, observedAt, recordedAt, dealtAt };
  const lines = Object.entries(fields).map(([name, value]) => [name, printable(value ?? '-')]);
  const asked = retry && ['retry', printable(`${retry.outcome ?? 'waiting'}, asked ${retry.requestedAt}`)];
  return `${formatTable(asked === undefined ? lines : [...lines, asked])}\n${printable(raw)}\n`;
}

interface Result {
  readonly id: string;
  readonly outcome: 'done' | 'failed' | 'withdrawn' | 'waiting';
  readonly detail: string;
}

/** Says it of each row, waits for the answers, and prints a line for each. */
async function dealWith(
  io: CliIo,
  verb: 'retry' | 'discard',
  ids: readonly string[],
  { reason = 'at the command line', wait = 60, ...flags }: JobFlags,
): Promise<void> {
  const client = restClient(io, flags);
  const asked: Result[] = [];
  for (const id of ids) {
    try {
      const path = `/v1/quarantine/${segment(id)}/${verb}`;
      const { body } = await client.ask({ method: 'POST', path, body: { reason } });
      asked.push(verb === 'discard' ? { id, outcome: 'done', detail: 'discarded' } : resultOf(body));
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error;
      asked.push({ id, outcome: 'failed', detail: await whyNot(client, id, error) });
      io.exit(error.exitCode);
      // The next one would fail in the same way: the service does not answer, or refuses the token.
      if (error.exitCode === exitCodes.unavailable || error.exitCode === exitCodes.denied) break;
    }
  }
  const results = await follow(io, asked, {
    read: (newest) => Promise.all(newest.map((result) => (isWaiting(result) ? lookAgain(client, result.id) : result))),
    isOver: (newest) => !newest.some(isWaiting),
    seconds: wait,
  });
  printResults(io, results, flags);
}

const isWaiting = ({ outcome }: Result) => outcome === 'waiting';

async function lookAgain(client: RestClient, id: string): Promise<Result> {
  return resultOf((await client.ask({ method: 'GET', path: `/v1/quarantine/${segment(id)}` })).body);
}

function resultOf(body: unknown): Result {
  const { id, retry } = understood(quarantineShow.about, quarantineAnswer, body);
  if (retry?.outcome !== undefined) return { id, outcome: retry.outcome, detail: retry.detail ?? '-' };
  return { id, outcome: 'waiting', detail: 'no process that follows the account has read it yet; it stays asked for' };
}

const reasons: Readonly<Record<string, string>> = {
  ROW_NOT_FOUND: 'there is no such row',
  ALREADY_DEALT_WITH: 'it has been dealt with',
};

async function whyNot(client: RestClient, id: string, { code, message }: ProgramError): Promise<string> {
  if (code !== 'NAMES_NO_ORDER') return reasons[code] ?? message;
  const { body } = await client.ask({ method: 'GET', path: `/v1/quarantine/${segment(id)}` });
  const { accountId } = understood(quarantineShow.about, quarantineAnswer, body);
  return `it names no order: ${accountId === undefined ? 'check it' : `run \`tidemark backfill ${accountId}\``}, and discard it`;
}

function printResults(io: CliIo, results: readonly Result[], { json }: RestFlags): void {
  io.stdout.write(
    json
      ? `${JSON.stringify(results)}\n`
      : results.map(({ id, outcome, detail }) => `${id}: ${outcome}, ${printable(detail)}\n`).join(''),
  );
  if (results.some(({ outcome }) => outcome === 'failed')) io.exit(exitCodes.failed);
  else if (results.some(({ outcome }) => outcome !== 'done')) io.exit(exitCodes.unresolved);
}
